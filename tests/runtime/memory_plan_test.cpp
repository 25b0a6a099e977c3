// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "models/lowering.h"
#include "models/memory.h"
#include "tests/models/drawn_plans.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

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
        const Packing packing = pack(intervals);
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

TEST(Pack, ReusesThePlaceOfWhatHasEnded) {
    const std::vector<Interval> intervals{{1000, 0, 1}, {1000, 2, 3}, {1000, 4, 5}};
    EXPECT_EQ(pack(intervals).bytes, 1024);
}

// The arena can't be smaller than what is alive at the predicted peak, and should not be much
// larger: whatever a slot's tensors leave free for a moment is not given to those of a micro-batch.
TEST(MemoryPlan, TakesLittleMoreThanThePredictedPeak) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        for (std::size_t r = 0; r < program.roles.size(); ++r) {
            const MemoryPlan plan{program, to_id<RoleId>(r)};
            const auto peak =
                static_cast<double>(role_memory(program, to_id<RoleId>(r), Bytes{}).peak.count());
            EXPECT_GE(static_cast<double>(plan.bytes()), peak) << d.text();
            EXPECT_LE(static_cast<double>(plan.bytes()), 1.6 * peak + 1e6) << d.text();
        }
    }
}

TEST(MemoryPlan, GivesMicroBatchesInFlightPlacesOfTheirOwn) {
    ParallelPlan two = tiny_plan();
    two.schedule = ScheduleKind::gpipe;
    const Program program = lower(tiny_gpt(), two);
    const MemoryPlan plan{program, RoleId{0}};
    int compared = 0;
    for (const auto& [instance, offset] : plan.instances()) {
        const Tensor& tensor = program.tensors[index(instance.first)];
        if (tensor.lifetime == Lifetime::micro_batch && instance.second == 0) {
            EXPECT_NE(offset, plan.offset_of_instance(instance.first, 1)) << tensor.name;
            ++compared;
        }
    }
    EXPECT_GT(compared, 10);
    EXPECT_EQ(plan.offset_of_instance(program.operands[0].tensor, 99), -1);
}

}  // namespace
}  // namespace orrery
