// SPDX-License-Identifier: Apache-2.0
// Clusters of several kinds of nodes through simulate and search.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "scenarios/format/read/effective_scenario.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/campaign/run_campaign.h"
#include "scenarios/studies/diagnose/modelled_checks.h"
#include "scenarios/studies/search/search.h"
#include "scenarios/studies/simulate/simulate_jobs.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/mixed_scenarios.h"

namespace orrery {
namespace {

Answer simulated(const Scenario& scenario, const SimulationOptions& options = {}) {
    auto answer = simulate_scenario(scenario, options);
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? *answer : Answer{};
}

Scenario shipped(const std::string& name, std::vector<std::string> overrides = {}) {
    ReadOptions read;
    read.overrides = std::move(overrides);
    auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/" + name + ".yaml", read);
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    return scenario ? *scenario : Scenario{};
}

TEST(MixedClusters, FoldedAndUnfoldedAgree) {
    for (const char* order : {"tp-cp-dp-pp", "tp-cp-pp-dp"}) {
        for (const Scenario& scenario :
             {mixed_scenario({std::string{"plan.rank_order="} + order}),
              classes_scenario({std::string{"plan.rank_order="} + order,
                                "plan.data_parallel_sharding_strategy=optim"})}) {
            const Answer folded = simulated(scenario);
            const Answer unfolded = simulated(scenario, {.fold = false});
            EXPECT_EQ(folded.iteration, unfolded.iteration) << order;
            EXPECT_EQ(folded.critical_path.of, unfolded.critical_path.of) << order;
        }
    }
}

TEST(MixedClusters, AListOfOneKindIsTheClusterWithoutAList) {
    const std::string node = "node: {base: dgx-h100, gpus_per_node: 4}";
    const Answer plain = simulated(
        small_scenario("plain", {"cluster={nodes: 2, " + node + ", fabric: single-switch-400}"}));
    const std::string one = "{nodes: 1, " + node + "}";
    for (const std::string& kinds : {"{nodes: 2, " + node + "}", one + ", " + one}) {
        const Answer listed = simulated(small_scenario(
            "listed", {"cluster={kinds: [" + kinds + "], fabric: single-switch-400}"}));
        EXPECT_EQ(listed.iteration, plain.iteration);
        EXPECT_EQ(listed.mfu, plain.mfu);
        EXPECT_EQ(listed.critical_path.of, plain.critical_path.of);
    }
}

TEST(MixedClusters, EveryRankHasItsNodesDeviceAndMemory) {
    const Answer mixed = simulated(mixed_scenario());
    EXPECT_EQ(mixed.device, "h100-80g + a100-80g");
    Time busiest;
    Time least = Time::max();
    SimulationOptions options;
    options.look = [&](const SimulationResult& result) {
        for (const Time t : result.rank_compute) {
            busiest = std::max(busiest, t);
            least = std::min(least, t);
        }
    };
    simulated(mixed_scenario(), options);
    EXPECT_GT(busiest * 2, least * 3);  // equal layers on unequal GPUs
    Scenario small = mixed_scenario();
    small.devices[1].memory = Bytes{1 << 20};
    const Answer full = simulated(small, {.only_if_fits = true});
    EXPECT_FALSE(full.memory.fits);
    EXPECT_EQ(full.memory.device, Bytes{1 << 20});
    EXPECT_EQ(full.memory.role, "pp 1");
}

TEST(MixedClusters, PartsOfTheStepAddUpToIt) {
    const Answer answer = simulated(classes_scenario());
    Time parts = answer.model_flops_per_step /
                 FlopRate::per_second(answer.peak.per_second() * static_cast<double>(answer.ranks));
    for (const LostMfu& lost : answer.lost_mfu) {
        parts += lost.time;
    }
    EXPECT_EQ(parts, answer.iteration);
}

TEST(MixedClusters, WhatKnowsOneKindOfNodesSaysSo) {
    const Scenario mixed = mixed_scenario();
    const auto campaign = run_campaign_scenario(mixed, {});
    ASSERT_FALSE(campaign);
    EXPECT_NE(campaign.error().what.find("one kind of nodes"), std::string::npos);
    EXPECT_FALSE(modelled_checks(mixed));
    EXPECT_FALSE(simulate_scenario(mixed_scenario({"network=packet"})));
    ReadOptions train;
    train.for_training = true;
    const auto read = read_scenario(ORRERY_SOURCE_DIR "/scenarios/mixed-h100-a100.yaml", train);
    ASSERT_FALSE(read);
    std::string all;
    for (const Error& error : read.error()) {
        all += error.to_string() + "\n";
    }
    EXPECT_NE(all.find("orrery train knows clusters of one kind of nodes"), std::string::npos)
        << all;
}

TEST(MixedClusters, SearchSplitsLayersBySpeed) {
    Scenario scenario = shipped("mixed-h100-a100",
                                {"plan.global_batch_size=32",
                                 "search.virtual_pipeline_model_parallel_size=[1]",
                                 "search.schedule=[1f1b]",
                                 "search.context_parallel_size=[1]",
                                 "search.recompute_granularity=[none]",
                                 "search.data_parallel_sharding_strategy=[optim]",
                                 "search.overlap=[true]"});
    const auto found = search_plans(scenario, scenario.search, {.jobs = 1});
    ASSERT_TRUE(found) << found.error().to_string();
    ASSERT_FALSE(found->best.empty());
    const std::vector<std::int64_t>& best = found->best.front().plan.pipeline_layout;
    ASSERT_EQ(best.size(), 2U);
    EXPECT_GT(best[0], 2 * best[1]);  // three times the peak
    Scenario even = scenario;
    const Answer before = simulated(even);
    EXPECT_LT(found->best.front().answer.iteration * 4, before.iteration * 3);
}

// Smaller memories want more tensor parallelism than the larger ones of the same pipeline.
TEST(MixedClusters, SearchGivesEachKindATensorSize) {
    const Scenario scenario =
        shipped("mixed-tp-70b",
                {"plan.global_batch_size=432", "search.pipeline_model_parallel_size=[3, 8]"});
    const auto found = search_plans(scenario, scenario.search, {.jobs = 1});
    ASSERT_TRUE(found) << found.error().to_string();
    ASSERT_FALSE(found->best.empty());
    const ParallelPlan& best = found->best.front().plan;
    EXPECT_EQ(best.stage_tensor_model_parallel_sizes,
              scenario.plan.stage_tensor_model_parallel_sizes);
    EXPECT_EQ(best.pipeline_layout, scenario.plan.pipeline_layout);
    const auto alike = std::ranges::find_if(found->best, [](const FoundPlan& plan) {
        return plan.plan.stage_tensor_model_parallel_sizes.empty();
    });
    ASSERT_NE(alike, found->best.end());
    EXPECT_GT(alike->answer.iteration, found->best.front().answer.iteration);
}

TEST(MixedClusters, StagesOfSeveralSizesFold) {
    const Scenario scenario = shipped("mixed-tp-70b", {"plan.global_batch_size=32"});
    const Answer folded = simulated(scenario);
    const Answer unfolded = simulated(scenario, {.fold = false});
    EXPECT_EQ(folded.iteration, unfolded.iteration);
    EXPECT_EQ(folded.critical_path.of, unfolded.critical_path.of);
}

TEST(MixedClusters, TheEffectiveScenarioSaysTheSame) {
    for (const char* name : {"mixed-h100-a100", "holmes-3.6b-mixed"}) {
        const Scenario scenario = shipped(name);
        const DocumentNode& effective = scenario.origin->effective;
        EXPECT_EQ(effective.find("cluster")->find("kinds")->items[0].find("node")->find("base"),
                  nullptr);
        ReadOptions read;
        const auto again = read_effective_scenario(effective, "e.yaml", *scenario.origin, read);
        ASSERT_TRUE(again) << again.error().front().to_string();
        EXPECT_EQ(simulated(*again).iteration, simulated(scenario).iteration);
    }
}

TEST(MixedClusters, OverridesReachOneKind) {
    const Scenario more =
        shipped("holmes-3.6b-mixed", {"cluster.kinds[0].nodes=3", "cluster.kinds[1].nodes=1"});
    EXPECT_EQ(more.cluster.kinds[0].num_nodes, 3U);
    EXPECT_EQ(more.cluster.num_nodes, 4U);
    // The second stage has a server of each class: its gradients go over TCP.
    EXPECT_GT(simulated(more).iteration, simulated(shipped("holmes-3.6b-mixed")).iteration);
}

TEST(MixedClusters, JobsHaveTheDevicesOfTheirNodes) {
    const std::string job =
        "    model: gpt-2-124m\n"
        "    nodes: 1\n"
        "    plan: {micro_batch_size: 1, global_batch_size: 8, precision: bf16}\n";
    const auto scenario = read_scenario_text(
        "name: two\ncluster:\n  kinds: [{nodes: 1, node: dgx-h100}, {nodes: 1, node: "
        "dgx-a100-80g}]\n"
        "  fabric: eth400-clos\njobs:\n  - name: a\n" +
            job + "  - name: b\n" + job,
        "two.yaml",
        {},
        {.several_jobs = true});
    ASSERT_TRUE(scenario) << scenario.error().front().to_string();
    const auto answer = simulate_jobs(*scenario);
    ASSERT_TRUE(answer) << answer.error().to_string();
    ASSERT_EQ(answer->jobs.size(), 2U);
    EXPECT_GT(answer->jobs[1].alone.iteration, answer->jobs[0].alone.iteration);
    EXPECT_EQ(answer->jobs[0].iteration, answer->jobs[0].alone.iteration);
    EXPECT_EQ(answer->jobs[1].iteration, answer->jobs[1].alone.iteration);
    EXPECT_NE(answer->cluster.find("1 x dgx-h100 + 1 x dgx-a100-80g"), std::string::npos);
}

struct HolmesRow {
    std::string name;
    std::string scenario;
    std::uint32_t nodes = 0;
    double tflops = 0;
};

std::vector<HolmesRow> holmes_rows() {
    std::ifstream file{ORRERY_SOURCE_DIR "/scenarios/catalogue/published/holmes.csv"};
    std::vector<HolmesRow> rows;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#") || line.starts_with("case,")) {
            continue;
        }
        std::istringstream cells{line};
        HolmesRow row;
        std::string nodes;
        std::string tflops;
        std::getline(cells, row.name, ',');
        std::getline(cells, row.scenario, ',');
        std::getline(cells, nodes, ',');
        std::getline(cells, tflops, ',');
        row.nodes = static_cast<std::uint32_t>(std::stoul(nodes));
        row.tflops = std::stod(tflops);
        rows.push_back(row);
    }
    return rows;
}

// Seconds of a step of 768 sequences at the published rate, which counts four passes
// (published/holmes.csv has the formula).
double published_step(const HolmesRow& row, const Transformer& model) {
    const auto s = static_cast<double>(model.seq_length);
    const auto l = static_cast<double>(model.num_layers);
    const auto h = static_cast<double>(model.hidden_size);
    const auto v = static_cast<double>(model.vocab_size);
    const double sequence = 96 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
    return 768 * sequence / (row.tflops * 1e12 * 8 * row.nodes);
}

// What Ethernet adds to a step, on 4 and on 8 servers: the exposed exchange of gradients, which
// does not depend on how fast the servers compute. Nothing was fitted on these rows.
TEST(MixedClusters, HolmesPublishedSecondsOfEthernet) {
    const std::vector<HolmesRow> rows = holmes_rows();
    ASSERT_EQ(rows.size(), 6U);
    std::map<std::string, double> published;
    std::map<std::string, double> simulation;
    for (const HolmesRow& row : rows) {
        const Scenario scenario =
            shipped(row.scenario, {"cluster.kinds[0].nodes=" + std::to_string(row.nodes)});
        ASSERT_EQ(scenario.plan.global_batch_size, 768);
        const std::string key = row.scenario + " on " + std::to_string(row.nodes);
        published[key] = published_step(row, scenario.model);
        simulation[key] = simulated(scenario).iteration.seconds();
        EXPECT_LT(simulation[key], published[key]) << key;
    }
    const auto added = [](std::map<std::string, double>& steps, const std::string& nodes) {
        return steps.at("holmes-3.6b-ethernet on " + nodes) -
               steps.at("holmes-3.6b-ib on " + nodes);
    };
    EXPECT_NEAR(added(simulation, "4") / added(published, "4"), 1, 0.05);
    EXPECT_NEAR(added(simulation, "8") / added(published, "8"), 1, 0.05);
}

// Holmes: InfiniBand is faster than RoCE with fewer adapters, both are faster than Ethernet, and a
// mixed cluster lies between. Gradients that cross the classes cost more than activations that do.
TEST(MixedClusters, HolmesOrderOfNetworks) {
    const Time ib = simulated(shipped("holmes-3.6b-ib")).iteration;
    const Time roce = simulated(shipped("holmes-3.6b-roce")).iteration;
    const Time mixed = simulated(shipped("holmes-3.6b-mixed")).iteration;
    const Time ethernet = simulated(shipped("holmes-3.6b-ethernet")).iteration;
    EXPECT_LT(ib, roce);
    EXPECT_LT(roce, mixed);
    EXPECT_LT(mixed, ethernet);
    const Time across =
        simulated(shipped("holmes-3.6b-mixed", {"plan.rank_order=tp-cp-pp-dp"})).iteration;
    EXPECT_LT(mixed, across);
}

}  // namespace
}  // namespace orrery
