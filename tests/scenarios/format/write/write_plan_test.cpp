// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/write/write_plan.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(WritePlan, WhatIsWrittenReadsBackAsThePlan) {
    const Scenario scenario = small_scenario("small", {"search.objective=step_time"});
    ASSERT_TRUE(scenario.document);
    for (Scenario other : small_scenarios()) {
        const std::string text =
            scenario_with_plan(*scenario.document, other.plan, {}, "/a/b", "/a/b");
        const auto again = read_scenario_text(text, "written.yaml", "/a/b");
        ASSERT_TRUE(again) << other.name << '\n'
                           << again.error().front().to_string() << '\n'
                           << text;
        ParallelPlan due = other.plan;
        // What no search varies stays as the document has it.
        due.context_parallel_comm = again->plan.context_parallel_comm;
        due.attention_kernel = again->plan.attention_kernel;
        due.fused_norm = again->plan.fused_norm;
        EXPECT_EQ(again->plan, due) << other.name << '\n' << text;
        EXPECT_TRUE(again->search.clusters.empty());
    }
}

TEST(WritePlan, ChangesTheClusterAndMovesPaths) {
    Scenario scenario = small_scenario("small", {"job={dataset: data/a.txt, steps: 3}"});
    const std::string text =
        scenario_with_plan(*scenario.document, scenario.plan, {{"nodes", "4"}}, "/a/b", "/a/c");
    EXPECT_TRUE(text.starts_with("# Written by orrery search, version ")) << text;
    EXPECT_NE(text.find(" from " + scenario.document->where().substr(0, 5)), std::string::npos)
        << text;
    const auto again = read_scenario_text(text, "written.yaml", "/a/c");
    ASSERT_TRUE(again) << again.error().front().to_string() << text;
    EXPECT_EQ(again->cluster.num_nodes, 4u);
    ASSERT_EQ(again->job.training.dataset.size(), 1u);
    EXPECT_EQ(again->job.training.dataset[0].lexically_normal(), "/a/b/data/a.txt");
}

}  // namespace
}  // namespace orrery
