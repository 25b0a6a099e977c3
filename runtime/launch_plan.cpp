// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/base/check.h"
#include "models/segments/segment_builder.h"

namespace orrery {
namespace {

constexpr std::int64_t kNone = -1;
using ByStream = std::array<std::int64_t, kNumStreams>;

ByStream nothing() {
    ByStream none;
    none.fill(kNone);
    return none;
}

bool carries_activations(const Program& program, const Slot& slot) {
    const std::vector<Op>& ops = program.segment_of(slot).ops;
    const StreamId stream = ops.front().stream;
    return (slot.pass == Pass::receive &&
            (stream == kForwardReceiveStream || stream == kDescendingForwardReceiveStream)) ||
           (slot.pass == Pass::send &&
            (stream == kForwardSendStream || stream == kDescendingForwardSendStream));
}

// The last uses of memory: disjoint pieces of the arena, split where uses begin and end.
class MemoryHistory {
public:
    explicit MemoryHistory(std::int64_t bytes) {
        pieces_[0] = Piece{.end = bytes, .writer = kNone, .writer_stream = 0, .readers = nothing()};
    }

    // Collects the launches that `launch` must wait for, and records its use.
    void visit(const ArenaUse& use,
               std::int64_t launch,
               std::size_t stream,
               std::set<std::int64_t>& waits) {
        split(use.begin);
        split(use.end);
        for (auto at = pieces_.find(use.begin); at != pieces_.end() && at->first < use.end; ++at) {
            Piece& piece = at->second;
            if (piece.writer != kNone && piece.writer_stream != stream) {
                waits.insert(piece.writer);
            }
            if (!use.writes) {
                piece.readers[stream] = launch;
                continue;
            }
            for (std::size_t s = 0; s < kNumStreams; ++s) {
                if (s != stream && piece.readers[s] != kNone) {
                    waits.insert(piece.readers[s]);
                }
            }
            piece.writer = launch;
            piece.writer_stream = stream;
            piece.readers = nothing();
        }
    }

private:
    struct Piece {
        std::int64_t end = 0;
        std::int64_t writer = kNone;
        std::size_t writer_stream = 0;
        ByStream readers{};  // readers since the last write
    };

    void split(std::int64_t at) {
        auto after = pieces_.upper_bound(at);
        if (after == pieces_.begin()) {
            return;
        }
        const auto piece = std::prev(after);
        if (piece->first < at && at < piece->second.end) {
            Piece right = piece->second;
            piece->second.end = at;
            pieces_.emplace_hint(after, at, right);
        }
    }

    std::map<std::int64_t, Piece> pieces_;  // by first byte
};

class Planner {
public:
    Planner(const RankProgram& rank, Walk walk)
        : rank_(rank), walk_(walk), memory_(std::max<std::int64_t>(rank.plan().bytes(), 1)) {
        known_.fill(nothing());
        last_.fill(kNone);
    }

    LaunchPlan plan() {
        const std::vector<Slot>& slots = rank_.role().slots;
        first_launch_.assign(slots.size(), kNone);
        for (std::uint32_t s = 0; s < slots.size(); ++s) {
            if (takes_part(rank_.program(), slots[s], walk_)) {
                first_launch_[s] = static_cast<std::int64_t>(plan_.launches.size());
                add_slot(s);
            }
        }
        for (std::size_t s = 0; s < kNumStreams; ++s) {
            if (last_[s] != kNone) {
                plan_.streams.push_back(to_id<StreamId>(s));
                plan_.lasts.push_back(static_cast<std::uint32_t>(last_[s]));
            }
        }
        return std::move(plan_);
    }

private:
    void add_slot(std::uint32_t s) {
        const Slot& slot = rank_.role().slots[s];
        const std::vector<Op>& ops = rank_.program().segment_of(slot).ops;
        std::set<TensorId> touched;
        std::vector<SlotWait> slot_waits = slot.waits;
        std::ranges::stable_sort(slot_waits, {}, &SlotWait::op);
        auto slot_wait = slot_waits.begin();
        for (std::uint32_t o = 0; o < ops.size(); ++o) {
            const Op& op = ops[o];
            std::set<std::int64_t> waits;
            for (std::uint32_t i = 0; i < op.num_waits; ++i) {
                waits.insert(first_launch_[s] + rank_.program().waits[op.first_wait + i]);
            }
            for (; slot_wait != slot_waits.end() && slot_wait->op == o; ++slot_wait) {
                // Between runs of the plan everything has ended, so that carried waits hold.
                if (!slot_wait->carried && first_launch_[slot_wait->slot] != kNone) {
                    waits.insert(first_launch_[slot_wait->slot] + slot_wait->slot_op);
                }
            }
            add_launch(s, o, std::move(waits));
            plan_.launches.back().begin_at_zero = sums_that_begin(op, touched);
        }
        ORRERY_CHECK(slot_wait == slot_waits.end());
    }

    std::vector<TensorId> sums_that_begin(const Op& op, std::set<TensorId>& in_slot) {
        std::vector<TensorId> sums;
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const Operand& operand = rank_.program().operands[op.first_operand + i];
            const Tensor& tensor = rank_.program().tensors[index(operand.tensor)];
            std::set<TensorId>& touched = is_passing_gradient(tensor) ? touched_in_step_ : in_slot;
            const bool begins = tensor.lifetime == Lifetime::slot || is_passing_gradient(tensor);
            if (begins && touched.insert(operand.tensor).second &&
                operand.access == Access::accumulate) {
                sums.push_back(operand.tensor);
            }
        }
        return sums;
    }

    void add_launch(std::uint32_t slot, std::uint32_t position, std::set<std::int64_t> waits) {
        const Op& op = rank_.op(slot, position);
        const auto stream = index(op.stream);
        ORRERY_CHECK(stream < kNumStreams);
        const auto self = static_cast<std::int64_t>(plan_.launches.size());
        for (const ArenaUse& use : arena_uses(rank_, slot, op)) {
            memory_.visit(use, self, stream, waits);
        }
        Launch launch{.slot = slot, .op = position, .stream = op.stream};
        ByStream& known = known_[stream];
        // From the latest wait on, so that the waits it implies are dropped.
        for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait) {
            const std::size_t other = index(plan_.launches[static_cast<std::size_t>(*wait)].stream);
            if (other == stream || known[other] >= *wait) {
                continue;
            }
            launch.waits.push_back(static_cast<std::uint32_t>(*wait));
            plan_.launches[static_cast<std::size_t>(*wait)].awaited = true;
            const ByStream& implied = known_at_[static_cast<std::size_t>(*wait)];
            for (std::size_t s = 0; s < kNumStreams; ++s) {
                known[s] = std::max(known[s], implied[s]);
            }
        }
        std::reverse(launch.waits.begin(), launch.waits.end());
        launch.reserved_sms = sms_held_beside(stream);
        leave_sms_free_for(op, slot, known);
        known[stream] = self;
        last_[stream] = self;
        known_at_.push_back(known);
        plan_.launches.push_back(std::move(launch));
    }

    // A collective launched after the pieces of a product runs beside the pieces that it does not
    // wait for. `known` are the launches that have ended when it begins.
    void leave_sms_free_for(const Op& op, std::uint32_t slot, const ByStream& known) {
        const std::uint16_t limit = sm_limit_of(op);
        const auto self = static_cast<std::int64_t>(plan_.launches.size());
        for (std::int64_t i = self - 1; limit > 0 && i >= first_launch_[slot]; --i) {
            Launch& earlier = plan_.launches[static_cast<std::size_t>(i)];
            if (earlier.stream != op.stream && known[index(earlier.stream)] < i) {
                earlier.reserved_sms = std::max(earlier.reserved_sms, limit);
            }
        }
    }

    std::uint16_t sm_limit_of(const Op& op) const {
        return op.kind() == OpKind::collective ? rank_.program().collective(op).mover.sm_limit
                                               : std::uint16_t{0};
    }

    // SMs of collectives that were launched and may not have ended.
    std::uint16_t sms_held_beside(std::size_t stream) const {
        std::uint16_t most = 0;
        for (std::size_t s = 0; s < kNumStreams; ++s) {
            if (s == stream || last_[s] == kNone || known_[stream][s] >= last_[s]) {
                continue;
            }
            const Launch& other = plan_.launches[static_cast<std::size_t>(last_[s])];
            most = std::max(most, sm_limit_of(rank_.op(other.slot, other.op)));
        }
        return most;
    }

    const RankProgram& rank_;
    Walk walk_;
    MemoryHistory memory_;
    LaunchPlan plan_;
    std::vector<std::int64_t> first_launch_;  // by slot
    std::set<TensorId> touched_in_step_;      // gradients that live for a part of the step
    // By stream: the latest launch of each stream that must have ended when an op of this stream
    // begins.
    std::array<ByStream, kNumStreams> known_{};
    std::vector<ByStream> known_at_;  // by launch: the same at its end
    ByStream last_{};
};

}  // namespace

bool takes_part(const Program& program, const Slot& slot, Walk walk) {
    const std::vector<Op>& ops = program.segment_of(slot).ops;
    if (ops.size() == 1 && is_restart(program, ops.front())) {
        return false;  // the host restarts by itself here
    }
    switch (walk) {
        case Walk::step:
            return true;
        case Walk::forward:
            return slot.pass == Pass::forward || slot.pass == Pass::parameter_sync ||
                   carries_activations(program, slot);
        case Walk::first_forward:
            return slot.micro_batch <= 0 && takes_part(program, slot, Walk::forward);
        case Walk::gather_parameters:
            return slot.pass == Pass::parameter_sync;
    }
    return false;
}

std::vector<ArenaUse> arena_uses(const RankProgram& rank, std::uint32_t slot, const Op& op) {
    const std::span<const Operand> operands =
        std::span{rank.program().operands}.subspan(op.first_operand, op.num_operands);
    // Gradients that are reduced to shards may be summed in place, because no later op reads them.
    const bool in_place =
        op.kind() == OpKind::collective && std::ranges::any_of(operands, [](const Operand& o) {
            return o.access == Access::accumulate;
        });
    std::vector<ArenaUse> uses;
    for (const Operand& operand : operands) {
        const Tensor& tensor = rank.program().tensors[index(operand.tensor)];
        const std::int64_t bytes = tensor.bytes.count();
        if (bytes == 0 || tensor.tier != MemoryTier::hbm) {
            continue;
        }
        const std::int64_t begin = rank.plan().offset(slot, operand.tensor);
        const std::int64_t blocks =
            operand.pieces == 1 ? 1 : rank.program().tensors[index(operand.tensor)].sequence_blocks;
        const std::int64_t size = bytes / blocks / operand.pieces;
        for (std::int64_t block = 0; block < blocks; ++block) {
            const std::int64_t first = begin + block * (bytes / blocks) + operand.piece * size;
            uses.push_back({first, first + size, in_place || operand.access != Access::read});
        }
    }
    return uses;
}

LaunchPlan plan_launches(const RankProgram& rank, Walk walk) {
    return Planner{rank, walk}.plan();
}

}  // namespace orrery
