// SPDX-License-Identifier: Apache-2.0
#include "models/segments/slot_waits.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/segments/segment_builder.h"

namespace orrery {
namespace {

// A position in program order; -1 is none.
struct Point {
    std::int64_t place = -1;

    Point() = default;
    Point(std::int64_t slot, std::uint32_t op) : place(slot << kOpBits | op) {}
    std::int64_t slot() const { return place >> kOpBits; }
    std::uint32_t op() const {
        return static_cast<std::uint32_t>(place & ((std::int64_t{1} << kOpBits) - 1));
    }
    auto operator<=>(const Point&) const = default;

private:
    static constexpr int kOpBits = 32;
};

// A use of a tensor that needs waits: by op `op` of a segment.
struct SharedUse {
    std::uint32_t op = 0;
    std::uint32_t tensor = 0;  // number among the shared tensors of its lifetime
    Access access = Access::read;
    bool of_micro_batch = false;
};

class HazardTracker {
public:
    HazardTracker(const Program& program, Role& role) : program_(program), role_(role) {
        find_shared_uses();
        std::int32_t last = -1;
        for (const Slot& slot : role.slots) {
            last = std::max(last, slot.micro_batch);
        }
        slots_left_.resize(static_cast<std::size_t>(last) + 2);
        uses_of_micro_batch_.resize(slots_left_.size());
    }

    void run() {
        const bool two_steps = !role_.host_reads.empty();
        count_slots(two_steps ? 2 : 1);
        walk(0);
        for (const SlotOp& read : role_.host_reads) {
            known_ = std::max(known_, Point{read.slot, read.op});
        }
        if (two_steps) {
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
    void count_slots(std::int32_t steps) {
        for (const Slot& slot : role_.slots) {
            slots_left_[instance_of(slot)] += steps;
        }
    }

    // Visits the slots of one step, numbered from `first`.
    void walk(std::int64_t first) {
        for (std::size_t s = 0; s < role_.slots.size(); ++s) {
            Slot& slot = role_.slots[s];
            std::vector<Uses>& own = uses_of_micro_batch_[instance_of(slot)];
            if (own.empty()) {
                own.resize(num_shared_[1]);
            }
            const std::vector<SharedUse>& uses = shared_uses_[index(slot.segment)];
            for (std::size_t u = 0; u < uses.size();) {
                const std::size_t of_op = u;
                while (u < uses.size() && uses[u].op == uses[of_op].op) {
                    ++u;
                }
                visit(slot,
                      std::span{uses}.subspan(of_op, u - of_op),
                      own,
                      {first + static_cast<std::int64_t>(s), uses[of_op].op});
            }
            if (--slots_left_[instance_of(slot)] == 0) {
                own = {};
            }
        }
    }

    // Only tensors that several streams touch can need a wait.
    void find_shared_uses() {
        std::vector<std::uint32_t> streams(program_.tensors.size(), 0);
        std::vector<bool> seen(program_.segments.size(), false);
        for (const Slot& slot : role_.slots) {
            if (seen[index(slot.segment)]) {
                continue;
            }
            seen[index(slot.segment)] = true;
            for (const Op& op : program_.segment_of(slot).ops) {
                for (const Operand& operand : operands_of(op)) {
                    streams[index(operand.tensor)] |= 1u << index(op.stream);
                }
            }
        }
        std::vector<std::uint32_t> number(streams.size(), kNotShared);
        for (std::size_t t = 0; t < streams.size(); ++t) {
            const Lifetime lifetime = program_.tensors[t].lifetime;
            if ((streams[t] & (streams[t] - 1)) != 0 && lifetime != Lifetime::slot) {
                number[t] = num_shared_[lifetime == Lifetime::micro_batch ? 1 : 0]++;
            }
        }
        uses_.resize(num_shared_[0]);
        shared_uses_.resize(program_.segments.size());
        for (std::size_t g = 0; g < program_.segments.size(); ++g) {
            const std::vector<Op>& ops = program_.segments[g].ops;
            for (std::uint32_t o = 0; seen[g] && o < ops.size(); ++o) {
                for (const Operand& operand : operands_of(ops[o])) {
                    const std::size_t t = index(operand.tensor);
                    if (number[t] != kNotShared) {
                        shared_uses_[g].push_back({.op = o,
                                                   .tensor = number[t],
                                                   .access = operand.access,
                                                   .of_micro_batch = program_.tensors[t].lifetime ==
                                                                     Lifetime::micro_batch});
                    }
                }
            }
        }
    }

    std::span<const Operand> operands_of(const Op& op) const {
        return std::span{program_.operands}.subspan(op.first_operand, op.num_operands);
    }

    using Uses = TensorUses<Point>;

    void visit(Slot& slot, std::span<const SharedUse> of_op, std::vector<Uses>& own, Point here) {
        const StreamId stream = program_.segment_of(slot).ops[here.op()].stream;
        std::array<Point, kNumStreams> latest{};
        for (const SharedUse& use : of_op) {
            Uses& uses = use.of_micro_batch ? own[use.tensor] : uses_[use.tensor];
            uses.for_each_wait(use.access, [&](Point on, StreamId of) {
                if (on.place >= 0 && on.slot() != here.slot()) {
                    latest[index(of)] = std::max(latest[index(of)], on);
                }
            });
            uses.add(use.access, here, stream);
        }
        auto& waited = waited_[index(stream)];
        for (std::size_t s = 0; s < kNumStreams; ++s) {
            if (s != index(stream) && latest[s] > waited[s]) {
                waited[s] = latest[s];
                add_wait(slot, here, latest[s]);
            }
        }
    }

    void add_wait(Slot& slot, Point here, Point on) {
        const bool carried = here.slot() >= num_slots_ && on.slot() < num_slots_;
        if (carried && on <= known_) {
            return;  // all ops before the host's read have ended
        }
        const auto in_step = static_cast<std::uint32_t>(on.slot() % num_slots_);
        const auto is_given = [&](const SlotWait& wait) {
            return wait.op == here.op() && wait.slot == in_step && wait.slot_op == on.op() &&
                   wait.carried == carried;
        };
        if (std::ranges::none_of(slot.waits, is_given)) {
            slot.waits.push_back(
                {.op = here.op(), .slot = in_step, .slot_op = on.op(), .carried = carried});
        }
    }

    static std::size_t instance_of(const Slot& slot) {
        return static_cast<std::size_t>(slot.micro_batch + 1);
    }

    static constexpr std::uint32_t kNotShared = UINT32_MAX;

    const Program& program_;
    Role& role_;
    const std::int64_t num_slots_ = static_cast<std::int64_t>(role_.slots.size());
    Point known_;  // in the first of two steps: the last op for which the host waits
    std::vector<std::vector<SharedUse>> shared_uses_;     // by segment of the role
    std::array<std::uint32_t, 2> num_shared_{};           // tensors: of the step, of a micro-batch
    std::vector<Uses> uses_;                              // of tensors that outlive micro-batches
    std::vector<std::vector<Uses>> uses_of_micro_batch_;  // from its first to its last slot
    std::vector<std::int32_t> slots_left_;                // of each micro-batch
    // waited_[a][b]: the latest op of stream b that stream a has waited for.
    std::array<std::array<Point, kNumStreams>, kNumStreams> waited_{};
};

}  // namespace

void derive_slot_waits(const Program& program, Role& role) {
    HazardTracker{program, role}.run();
}

}  // namespace orrery
