// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/timeline_bars.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

struct Drawn {
    Answer answer;
    TimelineBars timeline;
};

Drawn draw(const Scenario& scenario) {
    Drawn drawn;
    const auto answer = simulate_scenario(
        scenario, {.trace = [&](const Program& program, const auto& trace) -> Result<void> {
            drawn.timeline = timeline_bars(program, trace);
            return {};
        }});
    EXPECT_TRUE(answer) << scenario.name;
    drawn.answer = *answer;
    return drawn;
}

TEST(TimelineBars, BarsOfALaneFollowEachOtherInsideTheStep) {
    for (const Scenario& scenario : small_scenarios()) {
        const Drawn drawn = draw(scenario);
        ASSERT_FALSE(drawn.timeline.lanes.empty()) << scenario.name;
        for (const Lane& lane : drawn.timeline.lanes) {
            ASSERT_FALSE(lane.bars.empty());
            std::int64_t end = 0;
            for (const Bar& bar : lane.bars) {
                EXPECT_GE(bar.begin_ns, end) << scenario.name << ' ' << lane.stream;
                EXPECT_GT(bar.length_ns, 0);
                EXPECT_LT(bar.name, drawn.timeline.names.size());
                end = bar.begin_ns + bar.length_ns;
            }
        }
    }
}

TEST(TimelineBars, EachRankBeginsOnceAndEveryStageIsThere) {
    const Drawn drawn = draw(small_scenario("pp", {"plan.pipeline_model_parallel_size=4"}));
    const auto first = std::ranges::count_if(drawn.timeline.lanes, &Lane::first);
    EXPECT_EQ(first, 4);
    EXPECT_EQ(drawn.timeline.lanes.front().role, "pp 0");
    EXPECT_EQ(drawn.timeline.lanes.back().role, "pp 3");
}

// 16 stages have up to five lanes a rank. Messages share a lane in each direction, in which bars
// still follow each other, and none is lost.
TEST(TimelineBars, MessagesOfManyRanksShareALaneInEachDirection) {
    const Drawn drawn = draw(small_scenario("pp",
                                            {"cluster.nodes=4",
                                             "model.num_layers=16",
                                             "plan.pipeline_model_parallel_size=16",
                                             "plan.global_batch_size=16"}));
    std::map<std::string, std::size_t> lanes;
    for (const Lane& lane : drawn.timeline.lanes) {
        ++lanes[lane.stream];
        std::int64_t end = 0;
        for (const Bar& bar : lane.bars) {
            EXPECT_GE(bar.begin_ns, end) << lane.stream;
            EXPECT_GT(bar.length_ns, 0);
            end = bar.begin_ns + bar.length_ns;
        }
    }
    EXPECT_EQ(lanes["compute"], 16);
    EXPECT_EQ(lanes["receives"], 16);  // activations or gradients
    EXPECT_EQ(lanes["sends"], 16);
    EXPECT_EQ(lanes["receive forward"], 0);
}

// One GPU without communication computes all the time: the bars add up to the step but for the
// host's last word (and a nanosecond a bar).
TEST(TimelineBars, AloneTheBarsFillTheStep) {
    const Drawn drawn =
        draw(small_scenario("one", {"cluster.nodes=1", "cluster.node.gpus_per_node=1"}));
    ASSERT_EQ(drawn.timeline.lanes.size(), 1u);
    std::int64_t sum = 0;
    for (const Bar& bar : drawn.timeline.lanes[0].bars) {
        sum += bar.length_ns;
    }
    const double step_ns = drawn.answer.iteration.seconds() * 1e9;
    EXPECT_NEAR(static_cast<double>(sum), step_ns, step_ns * 0.01);
    const auto kinds = [&](BarKind kind) {
        return std::ranges::count_if(drawn.timeline.lanes[0].bars,
                                     [&](const Bar& bar) { return bar.kind == kind; });
    };
    // 16 micro-batches, each one bar forward and at least one backward.
    EXPECT_EQ(kinds(BarKind::forward), 16);
    EXPECT_GE(kinds(BarKind::backward), 16);
    EXPECT_GE(kinds(BarKind::optimizer), 1);
}

TEST(TimelineBars, RecomputationIsAKindOfItsOwn) {
    const Drawn drawn = draw(small_scenario("full", {"plan.recompute_granularity=full"}));
    bool found = false;
    for (const Lane& lane : drawn.timeline.lanes) {
        for (const Bar& bar : lane.bars) {
            found = found || bar.kind == BarKind::recomputation;
        }
    }
    EXPECT_TRUE(found);
}

}  // namespace
}  // namespace orrery
