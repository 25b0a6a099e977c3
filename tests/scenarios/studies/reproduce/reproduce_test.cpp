// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/reproduce/reproduce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/format/read/read_reproduction.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

const std::filesystem::path kScenarioFolder =
    std::filesystem::path{ORRERY_SOURCE_DIR} / "scenarios";

ReproduceOptions with_jobs(std::uint32_t jobs) {
    return {.catalogue = kScenarioFolder / "catalogue", .jobs = jobs};
}

TEST(Reproduce, RunsARoomFromEndToEnd) {
    const auto rooms = find_rooms(kScenarioFolder / "reproductions", {"selective-recomputation"});
    ASSERT_TRUE(rooms);
    ASSERT_EQ(rooms->size(), 1u);
    double progress = 0;
    ReproduceOptions options = with_jobs(2);
    options.progress = [&](double share) { progress = share; };
    const auto outcomes = reproduce(*rooms, options);
    ASSERT_TRUE(outcomes);
    EXPECT_EQ(progress, 1);
    const RoomOutcome& room = outcomes->front();
    ASSERT_EQ(room.comparisons.size(), rooms->front().comparisons.size());
    const ComparisonOutcome& ratio = room.comparisons.front();
    EXPECT_NEAR(ratio.published, 18.13 / 13.75, 1e-9);
    ASSERT_TRUE(ratio.simulated);
    EXPECT_GT(*ratio.simulated, 1);
    // The waterfall of the gain adds up to both steps.
    double before = 0;
    double after = 0;
    for (const CauseChange& cause : ratio.causes) {
        before += cause.baseline_s;
        after += cause.variant_s;
    }
    EXPECT_NEAR(before / after, *ratio.simulated, 1e-9);
    for (const ComparisonOutcome& one : room.comparisons) {
        EXPECT_TRUE(one.error.empty());
        EXPECT_EQ(one.causes.empty(), one.comparison.baseline.empty());
    }
}

TEST(Reproduce, TheNumberOfJobsChangesNothing) {
    const auto rooms = find_rooms(kScenarioFolder / "reproductions", {"holmes"});
    ASSERT_TRUE(rooms);
    const auto one = reproduce(*rooms, with_jobs(1));
    const auto three = reproduce(*rooms, with_jobs(3));
    ASSERT_TRUE(one && three);
    for (std::size_t i = 0; i < one->front().comparisons.size(); ++i) {
        EXPECT_EQ(one->front().comparisons[i].simulated, three->front().comparisons[i].simulated);
    }
}

TEST(Reproduce, AnUnknownRoomHasANearestName) {
    const auto rooms =
        find_rooms(kScenarioFolder / "reproductions", {"holms", "mt-nlg", "nothing-at"});
    ASSERT_FALSE(rooms);
    ASSERT_EQ(rooms.error().size(), 2u);
    EXPECT_EQ(rooms.error()[0].to_string(),
              "holms: error: there is no such reproduction (hint: did you mean 'holmes'?)");
}

TEST(Reproduce, AllRoomsCanBeRead) {
    const auto rooms = find_rooms(kScenarioFolder / "reproductions", {});
    ASSERT_TRUE(rooms) << rooms.error()[0].to_string();
    EXPECT_GE(rooms->size(), 9u);
    const TestFolder empty;
    EXPECT_FALSE(find_rooms(empty.path(), {}));
}

// Twice as many instances sustain about twice the rate.
TEST(Reproduce, ServedLoadsHaveFiguresToo) {
    const TestFolder folder;
    folder.write("load.yaml",
                 "kind: serving\ncluster: {nodes: 1, node: dgx-h100}\nmodel: llama-3-8b\n"
                 "serving:\n  pools: {instances: 2}\n"
                 "  objectives: {e2e_slowdown: {p90: 2}}\n"
                 "workload: {num_requests: 200, request_rate: 20, input_tokens: 512, "
                 "output_tokens: 32}\n");
    const std::string file = folder.write(
        "room.yaml",
        "kind: reproduction\nsystem: S\ntitle: T\nsource: A\nurl: https://a\nclass: ratio\n"
        "variants:\n  - {name: two, scenario: load.yaml}\n"
        "  - {name: four, scenario: load.yaml, set: {serving.pools.instances: 4}}\n"
        "  - {name: still, scenario: load.yaml, set: {workload.request_rate: 0}}\n"
        "comparisons:\n"
        "  - {name: rate, exhibit: t, metric: highest_rate, variant: four, baseline: two, "
        "published: 2}\n"
        "  - {name: latency, exhibit: t, metric: e2e_s, class: direction, variant: four, "
        "baseline: two, published: 0.9, most: 1}\n"
        "  - {name: no rate, exhibit: t, metric: highest_rate, class: absolute, variant: still, "
        "published: 1}\n");
    const auto rooms = find_rooms(folder.path(), {file});
    ASSERT_TRUE(rooms) << rooms.error()[0].to_string();
    const auto outcomes = reproduce(*rooms, with_jobs(1));
    ASSERT_TRUE(outcomes) << outcomes.error()[0].to_string();
    const RoomOutcome& room = outcomes->front();
    ASSERT_TRUE(room.comparisons[0].simulated) << room.comparisons[0].error;
    EXPECT_NEAR(*room.comparisons[0].simulated, 2, 0.4);
    ASSERT_TRUE(room.comparisons[1].simulated) << room.comparisons[1].error;
    EXPECT_LT(*room.comparisons[1].simulated, 1);
    EXPECT_NE(room.comparisons[2].error.find("request_rate"), std::string::npos);
}

TEST(Reproduce, ASimulationThatFailsIsAnErrorOfItsComparisons) {
    const TestFolder folder;
    const std::string scenario = (kScenarioFolder / "laptop-2gpu.yaml").string();
    const std::string file = folder.write(
        "room.yaml",
        "kind: reproduction\nsystem: S\ntitle: T\nsource: A\nurl: https://a\nclass: absolute\n"
        "variants:\n  - {name: a, scenario: " +
            scenario +
            "}\ncomparisons:\n"
            "  - {name: x, exhibit: t, metric: fits, variant: a, published: 1}\n"
            "  - {name: y, exhibit: t, metric: mttf_h, variant: a, published: 1}\n");
    const auto rooms = find_rooms(folder.path(), {file});
    ASSERT_TRUE(rooms) << rooms.error()[0].to_string();
    const auto outcomes = reproduce(*rooms, with_jobs(1));
    ASSERT_TRUE(outcomes);
    const RoomOutcome& room = outcomes->front();
    EXPECT_TRUE(room.comparisons[0].pass);
    EXPECT_FALSE(room.comparisons[1].pass);
    EXPECT_FALSE(room.comparisons[1].simulated);
    EXPECT_FALSE(room.comparisons[1].error.empty());
    EXPECT_EQ(room.passed(), 1u);
    EXPECT_FALSE(room.pass());
}

}  // namespace
}  // namespace orrery
