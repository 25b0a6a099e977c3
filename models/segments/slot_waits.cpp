// SPDX-License-Identifier: Apache-2.0
#include "models/segments/slot_waits.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "models/segments/segment_builder.h"

namespace orrery {
namespace {

// A position in program order.
struct Point {
    std::int64_t slot = -1;
    std::uint32_t op = 0;
    auto operator<=>(const Point&) const = default;
};

class HazardTracker {
public:
    HazardTracker(const Program& program, Role& role) : program_(program), role_(role) {
        find_shared_tensors();
    }

    void run() {
        walk(0);
        for (const SlotOp& read : role_.host_reads) {
            known_ = std::max(known_, Point{read.slot, read.op});
        }
        if (!role_.host_reads.empty()) {
            walk(
                num_slots_);  // the next step, in which the waits are the same but for carried ones
        }
        for (Slot& slot : role_.slots) {
            std::sort(slot.waits.begin(),
                      slot.waits.end(),
                      [](const SlotWait& a, const SlotWait& b) { return a.op < b.op; });
        }
    }

private:
    // Visits the slots of one step, numbered from `first`.
    void walk(std::int64_t first) {
        for (std::size_t s = 0; s < role_.slots.size(); ++s) {
            Slot& slot = role_.slots[s];
            const Segment& segment = program_.segment_of(slot);
            for (std::uint32_t o = 0; o < segment.ops.size(); ++o) {
                visit(slot, segment.ops[o], {first + static_cast<std::int64_t>(s), o});
            }
        }
    }

    // Only tensors that several streams touch can need a wait.
    void find_shared_tensors() {
        std::vector<std::uint32_t> streams(program_.tensors.size(), 0);
        std::vector<bool> seen(program_.segments.size(), false);
        for (const Slot& slot : role_.slots) {
            if (seen[index(slot.segment)]) {
                continue;
            }
            seen[index(slot.segment)] = true;
            for (const Op& op : program_.segment_of(slot).ops) {
                for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                    const Operand& operand = program_.operands[op.first_operand + i];
                    streams[index(operand.tensor)] |= 1u << index(op.stream);
                }
            }
        }
        shared_.resize(streams.size());
        for (std::size_t t = 0; t < streams.size(); ++t) {
            shared_[t] = (streams[t] & (streams[t] - 1)) != 0 &&
                         program_.tensors[t].lifetime != Lifetime::slot;
        }
    }

    void visit(Slot& slot, const Op& op, Point here) {
        std::array<Point, kNumStreams> latest{};
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const Operand& operand = program_.operands[op.first_operand + i];
            if (!shared_[index(operand.tensor)]) {
                continue;
            }
            TensorUses<Point>& uses = uses_[key(slot, operand.tensor)];
            uses.for_each_wait(operand.access, [&](Point on, StreamId stream) {
                if (on.slot >= 0 && on.slot != here.slot) {
                    latest[index(stream)] = std::max(latest[index(stream)], on);
                }
            });
            uses.add(operand.access, here, op.stream);
        }
        auto& waited = waited_[index(op.stream)];
        for (std::size_t s = 0; s < kNumStreams; ++s) {
            if (s != index(op.stream) && latest[s].slot >= 0 && latest[s] > waited[s]) {
                waited[s] = latest[s];
                add_wait(slot, here, latest[s]);
            }
        }
    }

    void add_wait(Slot& slot, Point here, Point on) {
        const bool carried = here.slot >= num_slots_ && on.slot < num_slots_;
        if (carried && on <= known_) {
            return;  // all ops before the host's read have ended
        }
        const auto in_step = static_cast<std::uint32_t>(on.slot % num_slots_);
        const auto is_given = [&](const SlotWait& wait) {
            return wait.op == here.op && wait.slot == in_step && wait.slot_op == on.op &&
                   wait.carried == carried;
        };
        if (std::ranges::none_of(slot.waits, is_given)) {
            slot.waits.push_back(
                {.op = here.op, .slot = in_step, .slot_op = on.op, .carried = carried});
        }
    }

    std::uint64_t key(const Slot& slot, TensorId tensor) const {
        const bool of_micro_batch =
            program_.tensors[index(tensor)].lifetime == Lifetime::micro_batch;
        const auto instance = static_cast<std::uint32_t>(of_micro_batch ? slot.micro_batch : -1);
        return static_cast<std::uint64_t>(index(tensor)) << 32 | instance;
    }

    const Program& program_;
    Role& role_;
    const std::int64_t num_slots_ = static_cast<std::int64_t>(role_.slots.size());
    Point known_;  // in the first of two steps: the last op for which the host waits
    std::vector<bool> shared_;
    std::unordered_map<std::uint64_t, TensorUses<Point>> uses_;
    // waited_[a][b]: the latest op of stream b that stream a has waited for.
    std::array<std::array<Point, kNumStreams>, kNumStreams> waited_{};
};

}  // namespace

void derive_slot_waits(const Program& program, Role& role) {
    HazardTracker{program, role}.run();
}

}  // namespace orrery
