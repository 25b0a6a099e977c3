// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/search_clusters.h"

#include <gtest/gtest.h>

#include "scenarios/report/search_report.h"
#include "scenarios/report/study_sections.h"
#include "tests/scenarios/report/search_answer.h"

namespace orrery {
namespace {

// Two clusters of 16 GPUs: the second one's plan costs a quarter more, a third one has none.
SearchedPlans two_clusters() {
    SearchedPlans searched = searched_plans();
    SearchSpec& spec = searched.scenario.search;
    spec.objective = Objective::cost;
    spec.tokens = 1e12;
    spec.clusters[0].cluster.num_nodes = 2;
    spec.clusters[0].cluster.node.gpus_per_node = 8;
    spec.clusters.push_back(spec.clusters[0]);
    spec.clusters[1].label = "node dgx-h100";
    spec.clusters.push_back(spec.clusters[0]);
    spec.clusters[2].label = "nodes 1";
    SearchResult& result = searched.result;
    FoundPlan& best = result.best.front();
    best.objective = best.money = 5e-7;
    best.days = 16.66;
    result.clusters = {{.plan = best}, {.plan = best}, {}};
    FoundPlan& other = *result.clusters[1].plan;
    other.cluster = 1;
    other.objective = other.money = 6.25e-7;
    return searched;
}

TEST(SearchClusters, TheBestPlanOfEachHasItsDaysGpuHoursAndCost) {
    const SearchedPlans searched = two_clusters();
    const auto rows = cluster_rows(searched.scenario, searched.result);
    const TextRow head{"cluster", "time", "MFU", "memory", "days", "GPU-hours", "cost", "behind"};
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0], head);
    EXPECT_EQ(rows[1].back(), "best");
    EXPECT_EQ(rows[1][4], "16.7");
    EXPECT_EQ(rows[1][5], "6,397");
    EXPECT_EQ(rows[1][6], "500,000");
    EXPECT_EQ(rows[2][0], "node dgx-h100");
    EXPECT_EQ(rows[2][6], "625,000");
    EXPECT_EQ(rows[2].back(), "+25.0 %");
    EXPECT_EQ(rows[3].back(), "no plan is feasible");
}

TEST(SearchClusters, WhatTheSimulationsLeftIsARange) {
    SearchedPlans searched = two_clusters();
    searched.result.clusters[1].bound_gap = 0.1;
    searched.result.clusters[2].unsimulated = 1234;
    const auto rows = cluster_rows(searched.scenario, searched.result);
    EXPECT_EQ(rows[2].back(), "+12.5 to +25.0 %");
    EXPECT_EQ(rows[3].back(), "1,234 unsimulated");
}

TEST(SearchClusters, WordsAreOfWhatTheSearchAsksFor) {
    SearchedPlans searched = two_clusters();
    FoundPlan plan = searched.result.best.front();
    EXPECT_EQ(training_words(searched.scenario, plan), "16.7 days, 6,397 GPU-hours, cost 500,000");
    searched.scenario.search.tokens = 0;
    plan.joules = 0.25;
    EXPECT_EQ(training_words(searched.scenario, plan), "cost 0.5 a million tokens, 0.25 J a token");
    plan.money = plan.joules = 0;
    EXPECT_EQ(training_words(searched.scenario, plan), "");
}

TEST(SearchClusters, ThePageAndTheReportHaveThem) {
    const SearchedPlans searched = two_clusters();
    const std::string page = to_html(search_sections(searched.scenario, searched.result, {}));
    EXPECT_NE(page.find("The best plan of each cluster"), std::string::npos);
    EXPECT_NE(page.find("node dgx-h100"), std::string::npos);
    EXPECT_NE(page.find("500,000"), std::string::npos);
    const std::string text = to_text(search_sections(searched.scenario, searched.result, {}));
    EXPECT_NE(text.find("16.7 days, 6,397 GPU-hours, cost 500,000"), std::string::npos) << text;
    EXPECT_NE(text.find("+25.0 %"), std::string::npos) << text;
}

TEST(SearchClusters, ANetworkThatIsNotQuiteAsAskedForIsRemarkedUpon) {
    SearchedPlans searched = two_clusters();
    ClusterSpec& cluster = searched.scenario.search.clusters[1].cluster;
    cluster.fabric.nic_bandwidth = Bandwidth::bits_per_second(400'000'000'000);
    cluster.fabric.oversubscription = 3;
    const auto remarks = search_remarks(searched.scenario);
    ASSERT_EQ(remarks.size(), 1u);
    EXPECT_EQ(remarks[0].find("node dgx-h100: all 2 nodes are under one set of leaf switches"), 0u);
    const std::string text = to_text(search_sections(searched.scenario, searched.result, {}));
    EXPECT_NE(text.find("node dgx-h100: all 2 nodes"), std::string::npos) << text;
    EXPECT_NE(search_json(searched.scenario, searched.result).find(remarks[0]), std::string::npos);
    EXPECT_NE(to_html(search_sections(searched.scenario, searched.result, {})).find(remarks[0]),
              std::string::npos);
}

}  // namespace
}  // namespace orrery
