// SPDX-License-Identifier: Apache-2.0
#include "engine/program/role_unroller.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/program/critical_path.h"

namespace orrery {

namespace {

bool is_communication(OpKind kind) {
    return kind == OpKind::collective || kind == OpKind::send_recv || kind == OpKind::copy;
}

}  // namespace

RoleUnroller::RoleUnroller(const Program& program, bool in_program_order)
    : program_(program), in_program_order_(in_program_order), segments_(program.segments.size()) {
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            num_streams = std::max(num_streams, std::uint32_t{stream_of(op)} + 1);
        }
    }
}

void RoleUnroller::unroll(const Role& role) {
    role_ = &role;
    lay_out();
    find_host_reads();
    find_waits();
    watch_host_reads();
}

std::uint8_t RoleUnroller::stream_of(const Op& op) const {
    const bool one_stream = in_program_order_ && !only_sends(program_, op);
    return one_stream ? std::uint8_t{0} : static_cast<std::uint8_t>(index(op.stream));
}

void RoleUnroller::describe(const Segment& segment, SegmentOps& out) const {
    out.on_stream.assign(num_streams, 0);
    out.last_op.assign(num_streams, kNoOp);
    std::int64_t launches = 0;
    for (std::uint32_t o = 0; o < segment.ops.size(); ++o) {
        const Op& op = segment.ops[o];
        ORRERY_CHECK(static_cast<std::size_t>(op.cause) < kNumOpCauses);
        launches += op.launches;
        const std::uint8_t stream = stream_of(op);
        out.ops.push_back({.launches = launches,
                           .ordinal = out.on_stream[stream]++,
                           .stream = stream,
                           .communicates = is_communication(op.kind()),
                           .is_kernel = op.kind() == OpKind::kernel,
                           .holds_host = is_restart(program_, op) && op.num_operands > 0});
        out.last_op[stream] = o;
    }
}

// Finds where the ops and the launches of each slot begin.
void RoleUnroller::lay_out() {
    slot_begin.clear();
    slot_launches_.clear();
    slot_ordinals_.clear();
    num_ops = 0;
    num_launches = 0;
    ops_on.assign(num_streams, 0);
    for (const Slot& slot : role_->slots) {
        SegmentOps& segment = segments_[index(slot.segment)];
        if (segment.on_stream.empty()) {
            describe(program_.segment_of(slot), segment);
        }
        slot_begin.push_back(num_ops);
        slot_launches_.push_back(num_launches);
        slot_ordinals_.insert(slot_ordinals_.end(), ops_on.begin(), ops_on.end());
        num_ops += static_cast<std::uint32_t>(segment.ops.size());
        num_launches += segment.ops.empty() ? 0 : segment.ops.back().launches;
        for (std::uint32_t i = 0; i < num_streams; ++i) {
            ops_on[i] += segment.on_stream[i];
        }
    }
}

void RoleUnroller::find_host_reads() {
    host_reads.assign(num_streams, FlatOp{});
    const auto read = [&](std::uint32_t slot, std::uint32_t op) {
        const FlatOp flat = flat_op(slot, op);
        FlatOp& latest = host_reads[flat.stream];
        latest = latest.flat == kNoOp || flat.flat > latest.flat ? flat : latest;
    };
    for (std::uint32_t s = 0; s < role_->slots.size() && role_->host_reads.empty(); ++s) {
        for (const std::uint32_t op : segment_of(s).last_op) {
            if (op != kNoOp) {
                read(s, op);
            }
        }
    }
    for (const SlotOp& one : role_->host_reads) {
        read(one.slot, one.op);
    }
}

// A carried wait on an op that the host has read is dropped.
void RoleUnroller::find_waits() {
    const std::size_t n = num_streams;
    waits.clear();
    waiting.clear();
    watched.assign(num_ops, false);
    known_[0].assign(n * n, 0);
    known_[1].assign(n * n, 0);
    for (std::size_t s = 0; s < n; ++s) {
        for (std::size_t own = 0; own < n && host_reads[s].flat != kNoOp; ++own) {
            known_[0][own * n + s] = host_reads[s].ordinal + 1;
        }
    }
    knows_hold_.assign(n, true);
    for (std::uint32_t s = 0; s < role_->slots.size(); ++s) {
        find_waits_of_slot(s);
    }
}

void RoleUnroller::find_waits_of_slot(std::uint32_t slot) {
    slot_waits_ = role_->slots[slot].waits;
    std::ranges::stable_sort(slot_waits_, {}, &SlotWait::op);
    auto wait = slot_waits_.begin();
    const std::vector<Op>& ops = program_.segment_of(role_->slots[slot]).ops;
    const SegmentOps& segment = segment_of(slot);
    for (std::uint32_t o = 0; o < ops.size(); ++o) {
        const SegmentOp& known = segment.ops[o];
        wanted_.clear();
        // The host launches an op only when the last op that held it has ended.
        if (!knows_hold_[known.stream]) {
            wanted_.emplace_back(last_hold_, false);
            knows_hold_[known.stream] = true;
        }
        for (std::uint32_t w = 0; w < ops[o].num_waits; ++w) {
            wanted_.emplace_back(flat_op(slot, program_.waits[ops[o].first_wait + w]), false);
        }
        for (; wait != slot_waits_.end() && wait->op == o; ++wait) {
            wanted_.emplace_back(flat_op(wait->slot, wait->slot_op), wait->carried);
        }
        if (!wanted_.empty()) {
            keep_waits(slot_begin[slot] + o, known.stream);
        }
        if (known.holds_host) {
            last_hold_ = flat_op(slot, o);
            watched[last_hold_.flat] = true;
            knows_hold_.assign(num_streams, false);
            knows_hold_[known.stream] = true;
        }
    }
}

// Keeps an op's latest wait on each other stream, unless an earlier op of the same stream waited
// for as much.
void RoleUnroller::keep_waits(std::uint32_t flat, std::size_t own) {
    const std::size_t n = num_streams;
    const auto first = static_cast<std::uint32_t>(waits.size());
    latest_.assign(2 * n, FlatWait{});
    for (const auto& [target, carried] : wanted_) {
        const std::size_t step = carried ? 0 : 1;
        std::uint32_t& known = known_[step][own * n + target.stream];
        if (target.stream != own && target.ordinal + 1 > known) {
            known = target.ordinal + 1;
            latest_[step * n + target.stream] = {target.flat, target.stream, carried};
        }
    }
    for (const FlatWait& wait : latest_) {
        if (wait.flat != kNoOp) {
            waits.push_back(wait);
            watched[wait.flat] = true;
        }
    }
    if (const auto kept = static_cast<std::uint32_t>(waits.size()) - first; kept > 0) {
        waiting.push_back({flat, first, kept});
    }
}

// A read op must be the last of its item, because the host waits for items.
void RoleUnroller::watch_host_reads() {
    overlaps_steps = false;
    for (std::size_t s = 0; s < host_reads.size(); ++s) {
        const FlatOp& read = host_reads[s];
        if (read.flat == kNoOp) {
            overlaps_steps = overlaps_steps || ops_on[s] > 0;
        } else if (read.ordinal + 1 < ops_on[s]) {
            watched[read.flat] = true;
            overlaps_steps = true;
        }
    }
}

}  // namespace orrery
