// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "scenarios/format/document/overrides.h"
#include "scenarios/format/read/reader.h"
#include "tests/scenarios/mixed_scenarios.h"

namespace orrery {
namespace {

bool has(const std::vector<Change>& changes, const std::string& words) {
    return std::ranges::any_of(changes, [&](const Change& c) { return c.words == words; });
}

TEST(Changes, HalveAndDoubleSizes) {
    const auto changes = possible_changes(small_scenario(
        "s", {"plan.tensor_model_parallel_size=4", "plan.pipeline_model_parallel_size=2"}));
    EXPECT_TRUE(has(changes, "tensor_model_parallel_size 4 -> 8"));
    EXPECT_TRUE(has(changes, "tensor_model_parallel_size 4 -> 2"));
    EXPECT_TRUE(
        has(changes, "pipeline_model_parallel_size 2 -> 4, tensor_model_parallel_size 4 -> 2"));
    EXPECT_TRUE(has(changes, "sequence_parallel on"));
    EXPECT_TRUE(has(changes, "schedule 1f1b -> gpipe"));
    EXPECT_FALSE(has(changes, "sequence_parallel off"));
    EXPECT_TRUE(has(possible_changes(small_scenario("s",
                                                    {"plan.tensor_model_parallel_size=4",
                                                     "plan.sequence_parallel=true"})),
                    "sequence_parallel off"));
}

TEST(Changes, LeaveOutWhatMakesNoDifference) {
    const auto changes = possible_changes(small_scenario("s", {"plan.sequence_parallel=false"}));
    EXPECT_FALSE(has(changes, "sequence_parallel on"));
    EXPECT_FALSE(has(changes, "schedule 1f1b -> gpipe"));
    EXPECT_FALSE(has(changes, "context_parallel_size 1 -> 0"));
}

TEST(Changes, StateComesBackToTheDevice) {
    const Scenario scenario = small_scenario(
        "s", {"plan.optimizer_cpu_offload=true", "plan.optimizer_offload_fraction=0.5"});
    const auto changes = possible_changes(scenario);
    const auto found = std::ranges::find(changes, "no offload", &Change::words);
    ASSERT_NE(found, changes.end());
    EXPECT_EQ(found->overrides,
              (std::vector<std::string>{"plan.optimizer_cpu_offload=false",
                                        "plan.optimizer_offload_fraction=1"}));
    EXPECT_FALSE(has(possible_changes(small_scenario("s", {})), "no offload"));
}

TEST(Changes, AreAllDifferentAndAllReadable) {
    for (const Scenario& scenario : small_scenarios()) {
        std::set<std::vector<std::string>> seen;
        for (const Change& change : possible_changes(scenario)) {
            EXPECT_TRUE(seen.insert(change.overrides).second) << change.words;
            EXPECT_FALSE(change.words.empty());
        }
    }
}

TEST(Changes, AUnevenSplitGoesWithAnotherNumberOfStages) {
    const auto changes = possible_changes(small_scenario(
        "s", {"plan.pipeline_model_parallel_size=4", "plan.pipeline_layout=[1, 3, 3, 1]"}));
    const auto found =
        std::ranges::find(changes, "pipeline_model_parallel_size 4 -> 2", &Change::words);
    ASSERT_NE(found, changes.end());
    EXPECT_EQ(found->overrides.back(), "plan.pipeline_layout=[]");
}

TEST(Changes, HardwareOfEveryKindOfNodes) {
    const Scenario scenario = classes_scenario();
    std::size_t hardware = 0;
    for (const Change& change : possible_changes(scenario)) {
        if (change.kind != ChangeKind::hardware) {
            continue;
        }
        ++hardware;
        DocumentNode root = *scenario.document;
        Errors errors;
        apply_override(root, change.overrides.front(), errors);
        EXPECT_TRUE(errors.empty()) << change.words;
        const auto read = read_scenario_document(std::move(root), "s.yaml", {});
        EXPECT_TRUE(read) << change.words << ": " << read.error().front().to_string();
    }
    EXPECT_EQ(hardware, 1U + 2 * 3);  // the Ethernet; NIC, NVLink and memory of each kind
}

}  // namespace
}  // namespace orrery
