// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/collective_flows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/base/check.h"
#include "network/fluid/fluid.h"
#include "scenarios/studies/network/link_events.h"
#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

using namespace literals;

struct Outcome {
    Time time;
    std::vector<FlowEnd> ends;
    std::vector<std::string> notes;
    NetworkRow row;
    std::vector<std::int64_t> bytes;
};

class Collective {
public:
    explicit Collective(const Scenario& scenario, std::optional<CollectiveKind> kind)
        : network_(fabric_of(scenario), {}), kind_(kind) {
        for (std::uint32_t rank = 0; rank < network_.fabric().num_ranks(); ++rank) {
            members_.push_back(to_id<RankId>(rank));
        }
    }
    const Fabric& fabric() const { return network_.fabric(); }

    Outcome run(const std::vector<LinkEvent>& events,
                Time timeout = 1000_ms,
                bool apart = true) const {
        const auto changes = link_changes(network_.fabric(), events);
        ORRERY_CHECK(changes.has_value());
        FluidRates rates(network_.links());
        FlowRunner runner(network_.links(),
                          rates,
                          {.changes = *changes, .convergence = 2_ms, .timeout = timeout});
        CollectiveFlows flows(network_, members_, apart);
        Outcome run;
        if (kind_) {
            CollectiveCall call;
            call.kind = *kind_;
            call.bytes = Bytes(64'000'000);
            call.wire = Dtype::fp32;
            run.ends = flows.run_collective(runner, call, run.row);
        } else {
            run.ends = flows.run_messages(runner, Bytes(64'000'000), run.row);
        }
        run.time = runner.now();
        run.notes = wait_notes(network_.fabric(), flows.names(), run.ends);
        run.bytes = runner.link_bytes();
        return run;
    }
    std::int64_t bytes_on(const Outcome& run, const char* link) const {
        return run.bytes.at(index(*fabric().find_link(link)));
    }

private:
    NcclNetwork network_;
    std::optional<CollectiveKind> kind_;
    std::vector<RankId> members_;
};

const std::vector<std::optional<CollectiveKind>> kAll = {CollectiveKind::all_reduce,
                                                         CollectiveKind::all_gather,
                                                         CollectiveKind::reduce_scatter,
                                                         CollectiveKind::broadcast,
                                                         CollectiveKind::all_to_all,
                                                         std::nullopt};

// Two servers a leaf, so that rings cross the spines; each queue pair hashed by itself.
Scenario four_servers() {
    Scenario scenario = leaf_spine_scenario(2);
    scenario.cluster.fabric.qps_per_connection = 4;
    return scenario;
}

TEST(CollectiveFlows, ChannelsThatStayApartTakeAsLongAsMergedOnes) {
    for (const auto& kind : kAll) {
        const Collective collective(four_servers(), kind);
        const Outcome apart = collective.run({}, 1000_ms, true);
        const Outcome merged = collective.run({}, 1000_ms, false);
        EXPECT_GE(apart.ends.size(), merged.ends.size());
        EXPECT_NEAR(apart.time.seconds(), merged.time.seconds(), 1e-6 * merged.time.seconds());
        EXPECT_TRUE(apart.notes.empty());
    }
}

TEST(CollectiveFlows, AnUplinkThatDiesIsLeftAndTheRestOfTheBytesTakesOthers) {
    for (const auto& kind : kAll) {
        const Collective collective(four_servers(), kind);
        const Outcome healthy = collective.run({});
        // Of the two spines one is dead from the middle on: what is left has half of the uplinks.
        const Time middle = Time::picoseconds(healthy.time.picoseconds() / 2);
        std::vector<LinkEvent> events;
        for (const char* link : {"leaf 0 -> spine 1", "leaf 1 -> spine 1"}) {
            events.push_back({.link = link, .at = middle});
        }
        const Outcome broken = collective.run(events);
        std::uint32_t moves = 0;
        for (const FlowEnd& end : broken.ends) {
            EXPECT_TRUE(end.finished);
            moves += end.moves;
        }
        EXPECT_GT(moves, 0U);
        EXPECT_GT(broken.time, healthy.time);
        // Not a byte is lost or sent twice: all uplinks together carry what they did.
        double before = 0;
        double after = 0;
        for (const char* link : {"leaf 0 -> spine 0", "leaf 0 -> spine 1"}) {
            before += static_cast<double>(collective.bytes_on(healthy, link));
            after += static_cast<double>(collective.bytes_on(broken, link));
        }
        EXPECT_NEAR(after, before, 1e-6 * before);
        EXPECT_LT(collective.bytes_on(broken, "leaf 0 -> spine 1"),
                  collective.bytes_on(healthy, "leaf 0 -> spine 1"));
        EXPECT_GT(collective.bytes_on(broken, "leaf 0 -> spine 0"),
                  collective.bytes_on(healthy, "leaf 0 -> spine 0"));
    }
}

TEST(CollectiveFlows, AFlapShorterThanConvergenceCostsItsLength) {
    const Collective collective(four_servers(), CollectiveKind::all_reduce);
    const Outcome healthy = collective.run({});
    const std::vector<LinkEvent> flap = {
        {.link = "leaf 0 -> node 1 nic 0", .at = 3_ms},
        {.link = "leaf 0 -> node 1 nic 0", .at = 4_ms, .restores = true}};
    const Outcome flapped = collective.run(flap);
    EXPECT_NEAR((flapped.time - healthy.time).seconds(), 1e-3, 1e-9);
}

TEST(CollectiveFlows, ALostServerIsWaitedForUntilTheTimeoutAndNamed) {
    for (const auto& kind : kAll) {
        const Collective collective(four_servers(), kind);
        const Outcome broken =
            collective.run({{.link = "node 1 nic 0 -> leaf 0", .at = 3_ms}}, 50_ms);
        EXPECT_EQ(broken.time, 53_ms);
        ASSERT_FALSE(broken.notes.empty());
        EXPECT_NE(broken.notes[0].find("which is down"), std::string::npos) << broken.notes[0];
        EXPECT_NE(broken.notes[0].find("node 1 nic 0"), std::string::npos) << broken.notes[0];
    }
}

// Dead before it starts, known to be: it waits for the link all the same.
TEST(CollectiveFlows, ACollectiveThatFindsNoPathWaitsForTheLinkToComeBack) {
    for (const auto& kind : kAll) {
        const Collective collective(four_servers(), kind);
        const Outcome healthy = collective.run({});
        const char* link = "node 1 nic 0 -> leaf 0";
        const std::vector<LinkEvent> events = {{.link = link, .at = Time{}},
                                               {.link = link, .at = 30_ms, .restores = true}};
        const Outcome late = collective.run(events);
        EXPECT_TRUE(late.notes.empty());
        EXPECT_GT(late.time, 30_ms);
        EXPECT_LT(late.time, 33_ms + healthy.time);
    }
}

TEST(CollectiveFlows, OnlyTheFirstWaitsAreListed) {
    const Collective collective(leaf_spine_scenario(16), std::nullopt);
    std::vector<LinkEvent> events;
    for (int node = 0; node < 20; ++node) {
        events.push_back({.link = fmt::format("node {} nic 0 -> leaf {}", node, node / 16)});
    }
    const Outcome broken = collective.run(events, 5_ms);
    ASSERT_EQ(broken.notes.size(), 9U);
    EXPECT_NE(broken.notes[0].find("rank 0 -> rank 1"), std::string::npos);
    EXPECT_NE(broken.notes.back().find("more wait"), std::string::npos);
}

}  // namespace
}  // namespace orrery
