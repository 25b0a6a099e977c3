// SPDX-License-Identifier: Apache-2.0
#include "models/memory/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "tests/models/drawn_plans.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

Transformer small_gpt() {
    return gpt(2, 64, 4, 32, 96);
}

TEST(Pack, NeverLaysTwoThatLiveAtOnceOnOnePlace) {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        std::mt19937 dice{seed};
        std::vector<Interval> intervals(1 + dice() % 40);
        std::int64_t sum = 0;
        for (Interval& i : intervals) {
            i.bytes = 1 + dice() % 1000;
            i.begin = dice() % 20;
            i.end = i.begin + dice() % 10;
            sum += i.bytes + kTensorAlignment;
        }
        const auto order = static_cast<PackingOrder>(seed % 3);
        const Packing packing = pack(intervals, order);
        EXPECT_LE(packing.bytes, sum) << "seed " << seed;
        for (std::size_t a = 0; a < intervals.size(); ++a) {
            EXPECT_EQ(packing.offsets[a] % kTensorAlignment, 0);
            EXPECT_LE(packing.offsets[a] + intervals[a].bytes, packing.bytes);
            for (std::size_t b = 0; b < a; ++b) {
                const bool together = intervals[a].begin <= intervals[b].end &&
                                      intervals[b].begin <= intervals[a].end;
                const bool apart = packing.offsets[a] + intervals[a].bytes <= packing.offsets[b] ||
                                   packing.offsets[b] + intervals[b].bytes <= packing.offsets[a];
                EXPECT_TRUE(!together || apart) << "seed " << seed << ": " << a << ", " << b;
            }
        }
    }
}

// The best fit by looking at each byte of the arena: where nothing lies while the interval lasts.
std::vector<std::int64_t> best_fits(const std::vector<Interval>& intervals,
                                    const std::vector<std::size_t>& order) {
    constexpr std::int64_t kUnits = 400;
    std::vector<std::int64_t> offsets(intervals.size());
    std::vector<std::size_t> placed;
    const auto units = [&](std::size_t i) {
        return (intervals[i].bytes + kTensorAlignment - 1) / kTensorAlignment;
    };
    for (const std::size_t i : order) {
        std::vector<bool> taken(kUnits);
        for (const std::size_t other : placed) {
            if (intervals[other].begin <= intervals[i].end &&
                intervals[i].begin <= intervals[other].end) {
                std::fill_n(taken.begin() + offsets[other] / kTensorAlignment, units(other), true);
            }
        }
        std::int64_t smallest = kUnits + 1;
        std::int64_t best = 0;
        for (std::int64_t from = 0; from < kUnits;) {
            const auto next = std::find(taken.begin() + from, taken.end(), true);
            const std::int64_t hole = next - taken.begin() - from;
            if (hole >= units(i) && hole < smallest && next != taken.end()) {
                smallest = hole;
                best = from;
            } else if (next == taken.end() && smallest > kUnits) {
                best = from;
            }
            from = std::find(next, taken.end(), false) - taken.begin();
        }
        offsets[i] = best * kTensorAlignment;
        placed.push_back(i);
    }
    return offsets;
}

TEST(Pack, GivesEachIntervalTheBestFitOfAllThatOverlapsIt) {
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 dice{seed};
        std::vector<Interval> intervals(1 + dice() % 30);
        for (Interval& i : intervals) {
            i.bytes = 1 + dice() % 500;
            i.begin = dice() % (seed % 2 == 0 ? 12 : 60);
            i.end = i.begin + dice() % (seed % 3 == 0 ? 40 : 4);
        }
        std::vector<std::size_t> order(intervals.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(
            order, std::ranges::greater{}, [&](std::size_t i) { return intervals[i].bytes; });
        EXPECT_EQ(pack(intervals, PackingOrder::by_size).offsets, best_fits(intervals, order))
            << "seed " << seed;
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return intervals[i].begin; });
        EXPECT_EQ(pack(intervals, PackingOrder::by_begin).offsets, best_fits(intervals, order))
            << "seed " << seed;
        // Backwards in time: the last to end comes first.
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(
            order, std::ranges::greater{}, [&](std::size_t i) { return intervals[i].bytes; });
        std::ranges::stable_sort(
            order, std::ranges::greater{}, [&](std::size_t i) { return intervals[i].end; });
        EXPECT_EQ(pack(intervals, PackingOrder::by_end).offsets, best_fits(intervals, order))
            << "seed " << seed;
    }
}

TEST(Pack, ReusesThePlaceOfWhatHasEnded) {
    const std::vector<Interval> intervals{{1000, 0, 1}, {1000, 2, 3}, {1000, 4, 5}};
    EXPECT_EQ(pack(intervals, PackingOrder::by_begin).bytes, 1024);
    EXPECT_EQ(pack(intervals, PackingOrder::by_size).bytes, 1024);
}

TEST(Pack, TakesAnotherOrderWhereThatLeavesSmallerGaps) {
    // What lives long begins beside what ends soon.
    const std::int64_t unit = kTensorAlignment;
    const std::vector<Interval> intervals{{unit, 0, 1}, {unit, 0, 9}, {2 * unit, 2, 9}};
    EXPECT_EQ(pack(intervals, PackingOrder::by_begin).bytes, 4 * unit);
    EXPECT_EQ(pack(intervals, PackingOrder::by_end).bytes, 3 * unit);
    EXPECT_EQ(pack(intervals, PackingOrder::by_length).bytes, 3 * unit);
    EXPECT_EQ(pack_tightly(intervals).bytes, 3 * unit);
}

TEST(Pack, LeavesThePlaceBelowToItsOwnerUntilItEnds) {
    const std::int64_t unit = kTensorAlignment;
    const std::vector<Interval> intervals{{2 * unit, 0, 3}, {unit, 4, 6}, {unit, 6, 9}};
    const Packing packing = pack_above({.bytes = 3 * unit, .begin = 0, .end = 5}, intervals);
    EXPECT_EQ(packing.offsets, (std::vector<std::int64_t>{3 * unit, 3 * unit, 0}));
    EXPECT_EQ(packing.bytes, 5 * unit);
    EXPECT_EQ(pack_above({}, intervals).offsets, pack(intervals, PackingOrder::by_size).offsets);
}

TEST(Pack, TakesTheSmallestHoleThatFits) {
    // At 2 a hole of 3 units below a living one, and one of 1 between two living ones.
    const std::int64_t unit = kTensorAlignment;
    const std::vector<Interval> intervals{
        {3 * unit, 0, 1}, {2 * unit, 0, 9}, {unit, 0, 1}, {unit, 1, 9}, {unit, 2, 9}};
    const Packing packing = pack(intervals, PackingOrder::by_begin);
    EXPECT_EQ(packing.offsets,
              (std::vector<std::int64_t>{0, 3 * unit, 5 * unit, 6 * unit, 5 * unit}));
}

// The bytes of a tensor belong to it from its first use on until its lifetime ends: no other tensor
// has written or read there when it is used again. Checked without the plan's own lifetimes.
class ArenaWatch {
public:
    ArenaWatch(const Program& program, const MemoryPlan& plan) : program_(program), plan_(plan) {}

    void use(std::uint32_t slot, TensorId id, std::int32_t micro_batch) {
        const Tensor& tensor = program_.tensors[index(id)];
        const bool of_slot = tensor.lifetime == Lifetime::slot;
        const bool passing =
            of_slot || tensor.lifetime == Lifetime::micro_batch ||
            (tensor.lifetime == Lifetime::step && tensor.kind == TensorKind::gradients);
        const std::int64_t begin = plan_.offset(slot, id);
        const std::int64_t end = begin + tensor.bytes.count();
        const Key key{index(id), of_slot ? static_cast<std::int64_t>(slot) : -2 - micro_batch};
        Used& own = used_.try_emplace(key, Used{begin, end, -1}).first->second;
        EXPECT_EQ(own.begin, begin) << tensor.name;
        EXPECT_LE(end, plan_.bytes()) << tensor.name;
        EXPECT_EQ(begin % kTensorAlignment, 0) << tensor.name;
        const bool was_there = own.last >= 0 || !passing || tensor.input;
        for (const auto& [other, theirs] : used_) {
            if (other != key && theirs.begin < end && begin < theirs.end) {
                EXPECT_TRUE(!was_there || theirs.last < own.last)
                    << tensor.name << " in slot " << slot << " and "
                    << program_.tensors[other.first].name;
            }
        }
        own.last = now_++;
    }

private:
    using Key = std::pair<std::size_t, std::int64_t>;
    struct Used {
        std::int64_t begin = 0;
        std::int64_t end = 0;
        std::int64_t last = -1;
    };
    const Program& program_;
    const MemoryPlan& plan_;
    std::map<Key, Used> used_;
    std::int64_t now_ = 0;
};

void watch_role(const Program& program, RoleId role) {
    const MemoryPlan plan{program, role};
    ArenaWatch watch{program, plan};
    const std::vector<Slot>& slots = program.roles[index(role)].slots;
    for (std::uint32_t s = 0; s < slots.size(); ++s) {
        for (const Op& op : program.segment_of(slots[s]).ops) {
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                const Operand& operand = program.operands[op.first_operand + i];
                const Tensor& tensor = program.tensors[index(operand.tensor)];
                if (tensor.tier == MemoryTier::hbm) {
                    const bool batch = tensor.lifetime == Lifetime::micro_batch;
                    watch.use(s, operand.tensor, batch ? slots[s].micro_batch : -1);
                }
            }
        }
    }
}

TEST(MemoryPlan, NoTensorTakesTheBytesOfAnotherThatIsUsedAgain) {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        SCOPED_TRACE(d.text());
        const Program program = lower(d.model, d.plan);
        for (std::size_t r = 0; r < program.roles.size(); ++r) {
            watch_role(program, to_id<RoleId>(r));
        }
    }
}

// No plan is smaller than what is in use at once, and the gaps are few. What a slot releases below
// other blocks is a gap until the slot ends.
TEST(MemoryPlan, LeavesFewGaps) {
    double planned = 0;
    double used = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        for (std::size_t r = 0; r < program.roles.size(); ++r) {
            const RoleMemory memory = role_memory(program, to_id<RoleId>(r), Bytes{});
            EXPECT_EQ(memory.peak.count(), (MemoryPlan{program, to_id<RoleId>(r)}.bytes()));
            EXPECT_GE(memory.peak, memory.in_use) << d.text();
            planned += static_cast<double>(memory.peak.count());
            used += static_cast<double>(memory.in_use.count());
        }
    }
    EXPECT_LT(planned, 1.03 * used);
}

TEST(MemoryPlan, GivesMicroBatchesInFlightPlacesOfTheirOwn) {
    ParallelPlan two{.micro_batch_size = 1, .global_batch_size = 4};
    two.schedule = ScheduleKind::gpipe;
    const Program program = lower(small_gpt(), two);
    const MemoryPlan plan{program, RoleId{0}};
    int compared = 0;
    for (const auto& [id, micro_batch] : plan.instances()) {
        const Tensor& tensor = program.tensors[index(id)];
        if (tensor.lifetime == Lifetime::micro_batch && micro_batch == 0) {
            EXPECT_NE(plan.offset_of_instance(id, 0), plan.offset_of_instance(id, 1))
                << tensor.name;
            ++compared;
        }
    }
    EXPECT_GT(compared, 10);
    EXPECT_EQ(plan.offset_of_instance(program.operands[0].tensor, 99), -1);
}

// Gradients that persist begin a step as zeros, and so does what the host reads after it; gradients
// of a part of the step are cleared by the op that adds to them first.
TEST(MemoryPlan, ClearsBeforeAStepWhatIsAddedToAllThroughIt) {
    ParallelPlan plan{.data_parallel_size = 2, .micro_batch_size = 1, .global_batch_size = 4};
    const auto cleared = [&](ShardingStrategy strategy) {
        plan.data_parallel_sharding_strategy = strategy;
        const Program program = lower(small_gpt(), plan);
        std::int64_t gradients = 0;
        const MemoryPlan memory{program, RoleId{0}};
        Bytes sum;
        for (const TensorId id : memory.cleared_before_step()) {
            const Tensor& tensor = program.tensors[index(id)];
            gradients += tensor.kind == TensorKind::gradients ? tensor.bytes.count() : 0;
            sum += tensor.bytes;
        }
        EXPECT_EQ(sum, memory.cleared_bytes());
        EXPECT_GT(sum.count(), gradients);  // the loss
        return gradients;
    };
    EXPECT_EQ(cleared(ShardingStrategy::optim),
              num_parameters(small_gpt()) * size_bytes(plan.gradient_dtype));
    EXPECT_EQ(cleared(ShardingStrategy::optim_grads), 0);
}

}  // namespace
}  // namespace orrery
