// SPDX-License-Identifier: Apache-2.0
#include "network/fluid/flow_runner.h"

#include <gtest/gtest.h>

#include <memory>

#include "network/fluid/fluid.h"
#include "network/fluid/uncontended.h"
#include "network/simgrid/simgrid.h"

namespace orrery {
namespace {

using namespace literals;

constexpr LinkId kFirst{0};
constexpr LinkId kSecond{1};

std::vector<LinkInfo> two_links() {
    return {{.capacity = 8_Gbps}, {.capacity = 8_Gbps}};  // 1 GB/s
}

FlowPath over(LinkId link, Time latency = Time{}) {
    return {.footprint = {{link, 1}}, .latency = latency};
}

// Flows that take the first link, or the second where the first is known to be down.
bool first_else_second(std::size_t, const LinkState& state, FlowPath& path) {
    for (const LinkId link : {kFirst, kSecond}) {
        if (state.is_up(static_cast<std::uint32_t>(index(link)))) {
            path = over(link);
            return true;
        }
    }
    return false;
}

TEST(FlowRunner, EndsAreStartsPlusBytesOverRatePlusLatency) {
    FluidRates rates(two_links());
    FlowRunner runner(two_links(), rates, {});
    const std::vector<RunnerFlow> flows = {
        {.start = 1_ms, .bytes = Bytes(1'000'000)},
        {.start = 1_ms, .bytes = Bytes(1'000'000)},
        {.start = 5_ms, .bytes = Bytes(500'000), .rate_max = 4_Gbps},
        {.start = 2_ms, .bytes = Bytes(0)},
    };
    const auto ends = runner.run(flows, [](std::size_t, const LinkState&, FlowPath& path) {
        path = over(kFirst, 3_us);
        return true;
    });
    EXPECT_EQ(ends[0].end, 3_ms + 3_us);  // shares the link
    EXPECT_EQ(ends[1].end, 3_ms + 3_us);
    EXPECT_EQ(ends[2].end, 6_ms + 3_us);
    EXPECT_EQ(ends[3].end, 2_ms + 3_us);
    for (const FlowEnd& end : ends) {
        EXPECT_TRUE(end.finished);
    }
    EXPECT_EQ(runner.now(), 6_ms + 3_us);
    EXPECT_EQ(runner.link_bytes()[0], 2'500'000);
    EXPECT_EQ(runner.link_bytes()[1], 0);
}

TEST(FlowRunner, ABrokenPathIsLeftWhenTheSwitchesHaveConverged) {
    FluidRates rates(two_links());
    FlowRunner runner(
        two_links(), rates, {.changes = {{.at = 1_ms, .link = kFirst}}, .convergence = 10_ms});
    const auto ends = runner.run({{.bytes = Bytes(3'000'000)}}, first_else_second);
    EXPECT_TRUE(ends[0].finished);
    EXPECT_EQ(ends[0].end, 13_ms);  // 1 ms there, 10 ms nowhere, 2 ms here
    EXPECT_EQ(ends[0].moves, 1U);
    EXPECT_EQ(ends[0].stalled, 10_ms);
    EXPECT_EQ(runner.link_bytes()[0], 1'000'000);
    EXPECT_EQ(runner.link_bytes()[1], 2'000'000);
}

TEST(FlowRunner, FlowsReturnWhenTheLinkIsBack) {
    FluidRates rates(two_links());
    FlowRunner runner(two_links(),
                      rates,
                      {.changes = {{.at = 4_ms, .link = kFirst, .capacity = 8_Gbps},
                                   {.at = 1_ms, .link = kFirst}},
                       .convergence = 1_ms});
    const auto ends = runner.run({{.bytes = Bytes(10'000'000)}}, first_else_second);
    EXPECT_EQ(ends[0].end, 11_ms);
    EXPECT_EQ(ends[0].moves, 2U);
    EXPECT_EQ(runner.link_bytes()[1], 3'000'000);  // from 2 ms to 5 ms
}

TEST(FlowRunner, AFlapShorterThanConvergenceOnlyStopsTheFlow) {
    FluidRates rates(two_links());
    FlowRunner runner(two_links(),
                      rates,
                      {.changes = {{.at = 1_ms, .link = kFirst},
                                   {.at = 3_ms, .link = kFirst, .capacity = 8_Gbps}},
                       .convergence = 50_ms});
    const auto ends = runner.run({{.bytes = Bytes(2'000'000)}}, first_else_second);
    EXPECT_EQ(ends[0].end, 4_ms);
    EXPECT_EQ(ends[0].stalled, 2_ms);
    EXPECT_EQ(ends[0].moves, 0U);
}

TEST(FlowRunner, WithoutAnotherPathAFlowGivesUpAndTheOthersGoOn) {
    FluidRates rates(two_links());
    FlowRunner runner(
        two_links(),
        rates,
        {.changes = {{.at = 1_ms, .link = kFirst}}, .convergence = 1_ms, .timeout = 100_ms});
    const std::vector<RunnerFlow> flows = {{.bytes = Bytes(2'000'000)},
                                           {.bytes = Bytes(2'000'000)},
                                           {.start = 50_ms, .bytes = Bytes(1)}};
    const auto ends = runner.run(flows, [](std::size_t i, const LinkState& state, FlowPath& path) {
        path = over(i == 1 ? kSecond : kFirst);
        return i == 1 || state.is_up(0);
    });
    EXPECT_FALSE(ends[0].finished);
    EXPECT_EQ(ends[0].end, 101_ms);
    EXPECT_EQ(ends[1].end, 2_ms);
    EXPECT_EQ(ends[0].waited_for, kFirst);
    EXPECT_FALSE(ends[2].finished);  // found no path, and waited for one just as long
    EXPECT_EQ(ends[2].end, 150_ms);
    EXPECT_EQ(ends[2].stalled, 100_ms);
    EXPECT_EQ(ends[2].waited_for, std::nullopt);
    EXPECT_EQ(runner.link_bytes()[0], 1'000'000);
}

TEST(FlowRunner, AFlowThatFindsNoPathStartsWhenThereIsOne) {
    FluidRates rates(two_links());
    FlowRunner runner(two_links(),
                      rates,
                      {.changes = {{.at = 1_ms, .link = kFirst},
                                   {.at = 20_ms, .link = kFirst, .capacity = 8_Gbps}},
                       .convergence = 2_ms});
    const auto only_first = [](std::size_t, const LinkState& state, FlowPath& path) {
        path = over(kFirst);
        return state.is_up(0);
    };
    const std::vector<RunnerFlow> flows = {{.start = 10_ms, .bytes = Bytes(1'000'000)},
                                           {.start = 10_ms, .bytes = Bytes(0)}};
    const auto ends = runner.run(flows, only_first);
    EXPECT_TRUE(ends[0].finished);
    EXPECT_EQ(ends[0].end, 23_ms);  // up at 20, known at 22, 1 ms of bytes
    EXPECT_EQ(ends[0].stalled, 12_ms);
    EXPECT_TRUE(ends[1].finished);
    EXPECT_EQ(ends[1].end, 22_ms);
}

TEST(FlowRunner, ALinkWithLessThanABitASecondForEachFlowEndsToo) {
    std::vector<LinkInfo> links = two_links();
    links[0].capacity = Bandwidth::bits_per_second(1);
    FluidRates rates(links);
    FlowRunner runner(links, rates, {.timeout = 1_ms});
    const auto ends = runner.run({{.bytes = Bytes(1)}, {.bytes = Bytes(1)}}, first_else_second);
    EXPECT_FALSE(ends[0].finished);
    EXPECT_FALSE(ends[1].finished);
}

TEST(FlowRunner, PhasesFollowEachOtherAndSpansTellTheirRates) {
    FluidRates rates(two_links());
    FlowRunner runner(two_links(), rates, {.keep_spans = true});
    runner.run({{.bytes = Bytes(1'000'000)}, {.bytes = Bytes(2'000'000)}}, first_else_second);
    EXPECT_EQ(runner.now(), 3_ms);
    runner.run({{.start = 4_ms, .bytes = Bytes(1'000'000)}}, first_else_second);
    EXPECT_EQ(runner.now(), 5_ms);
    ASSERT_EQ(runner.spans().size(), 4U);
    EXPECT_EQ(runner.spans()[0].rate, 4_Gbps);
    EXPECT_EQ(runner.spans()[0].end, 2_ms);
    EXPECT_EQ(runner.spans()[2].rate, 8_Gbps);  // the second flow alone
    EXPECT_EQ(runner.spans()[3].begin, 4_ms);
}

// Batches are late by at most their length, never early, and need fewer solves.
TEST(FlowRunner, BatchesAreLateByLessThanTheirLengthAFlow) {
    std::vector<RunnerFlow> flows;
    for (int i = 0; i < 100; ++i) {
        flows.push_back({.bytes = Bytes(100'000 + 37 * i)});
    }
    const auto run = [&](Time batch, std::int64_t& solves) {
        FluidRates rates(two_links());
        FlowRunner runner(two_links(), rates, {.batch = batch});
        const auto ends = runner.run(flows, first_else_second);
        solves = rates.num_solves();
        return ends;
    };
    std::int64_t exact_solves = 0;
    std::int64_t solves = 0;
    const auto exact = run(Time{}, exact_solves);
    const auto batched = run(20_us, solves);
    EXPECT_LT(solves * 2, exact_solves);
    for (std::size_t i = 0; i < flows.size(); ++i) {
        EXPECT_GE(batched[i].end, exact[i].end);
        EXPECT_LE(batched[i].end, exact[i].end + 1_ms);
    }
}

// The same flaps on every implementation.
TEST(FlowRunner, FluidSimgridAndUncontendedAgreeOnALoneFlow) {
    const FlowRunnerOptions options{
        .changes = {{.at = 1_ms, .link = kFirst, .capacity = 4_Gbps}, {.at = 2_ms, .link = kFirst}},
        .convergence = 1_ms};
    std::vector<std::unique_ptr<SharedRates>> all;
    all.push_back(std::make_unique<FluidRates>(two_links()));
    all.push_back(std::make_unique<UncontendedRates>(two_links()));
    if (has_simgrid()) {
        all.push_back(make_simgrid_rates(two_links()));
    }
    for (const auto& rates : all) {
        FlowRunner runner(two_links(), *rates, options);
        const auto ends = runner.run({{.bytes = Bytes(3'000'000)}}, first_else_second);
        EXPECT_TRUE(ends[0].finished);
        EXPECT_NEAR(ends[0].end.seconds(), 4.5e-3, 2e-9);
        EXPECT_EQ(ends[0].moves, 1U);
    }
}

}  // namespace
}  // namespace orrery
