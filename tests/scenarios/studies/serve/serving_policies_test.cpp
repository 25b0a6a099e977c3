// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/serving_policies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "engine/serving/autoscaler.h"
#include "engine/serving/power_policy.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/serve/served_faults.h"
#include "scenarios/studies/serve/serving_prices.h"
#include "tests/scenarios/served_model.h"

namespace orrery {
namespace {

using namespace literals;

ServingAnswer served(const ServingSpec& spec,
                     const WorkloadSpec& load,
                     ServingResult* result = nullptr) {
    return serve_scenario(served_model(), spec, synthetic_requests(load, nullptr, 16), {}, result)
        .value();
}

// Four instances of two GPUs; the load is for more than one and fewer than four.
ServingSpec four_instances() {
    ServingSpec spec;
    spec.pools.front().instances = 4;
    spec.pools.front().plan.tensor_model_parallel_size = 2;
    spec.price_per_gpu_hour = 2;
    return spec;
}
WorkloadSpec steady(std::int64_t requests, double rate) {
    WorkloadSpec load{.num_requests = requests, .request_rate = rate};
    load.input_tokens = 2000;
    load.output_tokens = 100;
    return load;
}

TEST(ServingPolicies, AStartUpReadsTheWeightsFromDisksOrFromAPeer) {
    Scenario scenario = served_model();
    ServingSpec spec = four_instances();
    const ServingPoolSpec& pool = spec.pools.front();
    const Time disk = scaled_start_up(scenario, spec, pool);
    EXPECT_EQ(disk, start_up_of(spec, pool, scenario.model, 8));
    // 30 s, and 16 GB at 5 GB/s.
    EXPECT_NEAR(disk.seconds(), 33.2, 0.1);
    spec.autoscaler.weights = WeightSource::peer;
    scenario.cluster.fabric.nics_per_node = 8;
    scenario.cluster.fabric.nic_bandwidth = 400_Gbps;
    scenario.cluster.fabric.efficiency = 1;
    EXPECT_NEAR(scaled_start_up(scenario, spec, pool).seconds(), 30.04, 0.01);
}

TEST(ServingPolicies, InstancesThatFollowTheLoadCostLess) {
    ServingSpec spec = four_instances();
    const WorkloadSpec load = steady(3000, 15);
    const ServingAnswer all = served(spec, load);
    spec.autoscaler = {.policy = "rate", .target = 8, .interval = Time::seconds(5)};
    const ServingAnswer scaled = served(spec, load);
    EXPECT_EQ(scaled.requests, 3000);
    ASSERT_EQ(scaled.scaled.size(), 1U);
    EXPECT_EQ(scaled.scaled[0].least, 1);
    EXPECT_GT(scaled.scaled[0].mean, 1);
    EXPECT_LT(scaled.scaled[0].mean, 4);
    EXPECT_NEAR(scaled.scaled[0].start_up.seconds(), 33.2, 0.1);
    EXPECT_LT(scaled.gpu_hours, 0.8 * all.gpu_hours);
    EXPECT_NEAR(all.gpu_hours, 8 * all.makespan.seconds() / 3600, 1e-9);
    EXPECT_NEAR(scaled.cost_per_million_tokens,
                2 * scaled.gpu_hours / (300'000 * 1e-6),
                0.001 * scaled.cost_per_million_tokens);
    EXPECT_LT(scaled.cost_per_million_tokens, all.cost_per_million_tokens);
    EXPECT_TRUE(all.scaled.empty());
}

TEST(ServingPolicies, TheKeysOfAnAutoscalerHaveAnEffect) {
    ServingSpec spec = four_instances();
    spec.objectives.ttft = 500_ms;
    const WorkloadSpec load = steady(2000, 15);
    spec.autoscaler = {.policy = "rate", .target = 8, .interval = Time::seconds(5)};
    const ServingAnswer base = served(spec, load);
    const auto differs = [&](auto change) {
        ServingSpec other = spec;
        change(other.autoscaler);
        return served(other, load).gpu_hours != base.gpu_hours;
    };
    EXPECT_TRUE(differs([](AutoscalerSpec& a) { a.target = 5; }));
    EXPECT_TRUE(differs([](AutoscalerSpec& a) { a.min_instances = 2; }));
    EXPECT_TRUE(differs([](AutoscalerSpec& a) { a.interval = Time::seconds(9); }));
    EXPECT_TRUE(differs([](AutoscalerSpec& a) { a.policy = "queue"; }));
    EXPECT_TRUE(differs([](AutoscalerSpec& a) {
        a.policy = "cache";
        a.target = 0.02;
    }));
    EXPECT_TRUE(differs([](AutoscalerSpec& a) {
        a.policy = "objectives";
        a.target = 0.9;
    }));
    // Only once fewer are wanted.
    WorkloadSpec bursts = load;
    bursts.arrival_variation = 6;
    const double late = served(spec, bursts).gpu_hours;
    spec.autoscaler.scale_down_delay = Time{};
    EXPECT_LT(served(spec, bursts).gpu_hours, late);
}

TEST(ServingPolicies, ALoadOfWhichNothingFitsHasItsFirstInstances) {
    ServingSpec spec = four_instances();
    spec.autoscaler = {.policy = "rate", .min_instances = 2, .target = 8};
    spec.pools.front().limits.num_blocks = 1;
    const ServingAnswer answer = served(spec, steady(5, 1));
    EXPECT_EQ(answer.refused, 5);
    ASSERT_EQ(answer.scaled.size(), 1U);
    EXPECT_EQ(answer.scaled.front().mean, 2);
}

TEST(ServingPolicies, AStartUpOfDaysIsAnError) {
    ServingSpec spec = four_instances();
    spec.autoscaler = {.policy = "rate", .target = 8};
    spec.recovery.start_up = WallTime::seconds(1e6);
    const auto answer = serve_scenario(served_model(), spec, synthetic_requests(steady(5, 1)), {});
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().what.find("12 days to start up"), std::string::npos);
}

// Two GPUs that compute prompts, and four that generate.
TEST(ServingPolicies, EveryPoolDrawsThePowerOfItsOwnGpus) {
    ServingSpec spec;
    spec.pools.resize(2);
    spec.pools[0].role = PoolRole::prefill;
    spec.pools[0].plan.tensor_model_parallel_size = 2;
    spec.pools[1].role = PoolRole::decode;
    spec.pools[1].plan.tensor_model_parallel_size = 4;
    spec.busy_watts = 200;
    spec.idle_watts = 200;
    spec.power = {.policy = "polca", .limit_watts = 1e6};
    const ServingAnswer answer = served(spec, steady(20, 4));
    ASSERT_TRUE(answer.row);
    EXPECT_NEAR(answer.row->mean_watts, 6 * 200, 1e-6);
}

TEST(ServingPolicies, AdmissionServesMoreWithinTheObjectives) {
    ServingSpec spec;
    spec.objectives.ttft = Time::seconds(2);
    const WorkloadSpec load = steady(1500, 60);  // more than one GPU serves
    const ServingAnswer all = served(spec, load);
    spec.admission = "objectives";
    const ServingAnswer some = served(spec, load);
    EXPECT_EQ(all.rejected, 0);
    EXPECT_GT(some.rejected, 200);
    EXPECT_EQ(some.rejected + some.requests, 1500);
    EXPECT_GT(some.goodput, 1.5 * all.goodput);
    // Predictions leave out that prompts share steps with what is generated.
    EXPECT_LT(some.ttft_s.p90, 0.5 * all.ttft_s.p90);
}

TEST(ServingPolicies, SlowTokensAreTheLongestTenth) {
    ServingSpec spec;
    WorkloadSpec load = steady(300, 4);
    ServingResult result;
    EXPECT_EQ(served(spec, load).slow_gap_s.mean, 0);
    spec.objectives.tbt = 100_ms;
    const ServingAnswer answer = served(spec, load, &result);
    EXPECT_GT(answer.slow_gap_s.mean, answer.tpot_s.mean);
    for (const RequestRecord& record : result.records) {
        EXPECT_GE(record.slow_gap, record.time_per_output_token());
        EXPECT_LE(record.slow_gap, record.longest_gap);
    }
    spec.objectives.tbt = 1_ms;
    EXPECT_EQ(served(spec, load).good_share, 0);
}

// A step of prompts takes as much longer as the clock is lower, and a step that generates hardly.
TEST(ServingPolicies, ALimitOfPowerSlowsDownWhatComputationBinds) {
    Scenario scenario = served_model();
    const auto times = [&](const Scenario& at) {
        const auto prices = ServingPrices::make(at, at.model, {}, {}).value();
        const BatchShape prompt{
            .tokens = 8192, .sampled = 1, .chunks = {{.new_tokens = 8192, .context = 0}}};
        const BatchShape generation{
            .tokens = 8, .sampled = 8, .generating = 8, .generating_context = 8000};
        return std::pair{prices->stage_time(prompt, 0).seconds(),
                         prices->stage_time(generation, 0).seconds()};
    };
    const auto full = times(scenario);
    const auto half = times(at_clock(scenario, 0.5));
    EXPECT_GT(half.first, 1.8 * full.first);
    EXPECT_LT(half.first, 2 * full.first);
    EXPECT_LT(half.second, 1.05 * full.second);
    ASSERT_EQ(scenario.device.power, 700);
    scenario.device.power_limit = 350;  // a clock of 0.5^0.6
    const auto limited = times(scenario);
    EXPECT_NEAR(limited.first, times(at_clock(served_model(), 0.6598)).first, 0.01 * full.first);
    EXPECT_LT(limited.second, 1.03 * full.second);
}

TEST(ServingPolicies, ARowStaysBelowItsLimit) {
    ServingSpec spec = four_instances();
    spec.busy_watts = 1000;
    spec.idle_watts = 200;
    spec.power = {.policy = "polca", .limit_watts = 1e6, .low_priority_share = 0.5};
    WorkloadSpec load = steady(5000, 40);
    load.output_tokens = 10;
    const ServingAnswer free = served(spec, load);
    ASSERT_TRUE(free.row);
    EXPECT_EQ(free.row->capped, 0);
    EXPECT_GT(free.row->peak_watts, 8 * 600);
    EXPECT_GT(free.row->mean_watts, 8 * 200);
    EXPECT_LT(free.row->mean_watts, free.row->peak_watts);
    spec.power.limit_watts = free.row->peak_watts / 0.95;
    const ServingAnswer capped = served(spec, load);
    EXPECT_GT(capped.row->capped, 0);
    EXPECT_GT(capped.e2e_s.mean, free.e2e_s.mean);
    spec.power.low_priority_share = 1;
    EXPECT_NE(served(spec, load).e2e_s.mean, capped.e2e_s.mean);
    spec.power.policy = "all";
    EXPECT_NE(served(spec, load).e2e_s.mean, capped.e2e_s.mean);
    spec.power.policy = "none";
    EXPECT_FALSE(served(spec, load).row);
}

TEST(ServingPolicies, FaultsAndAnAutoscalerAreAnError) {
    Scenario scenario = served_model();
    scenario.faults.processes.emplace_back();
    ServingSpec spec = four_instances();
    spec.autoscaler.policy = "rate";
    const auto answer = serve_scenario(scenario, spec, synthetic_requests(steady(5, 1)), {});
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().what.find("an autoscaler is given"), std::string::npos);
}

// A row of the table of decisions: its key, the policies of its registry, its scenario, and whether
// that scenario decides so.
struct Decision {
    std::string key;
    std::vector<std::string_view> policies;
    std::string file;
    bool (*decides)(const Scenario&);
};

std::vector<Decision> decisions() {
    const auto batching = [] {
        std::vector<std::string_view> names;
        for (const BatchingRules& rules : batching_rules()) {
            names.push_back(rules.name);
        }
        return names;
    };
    return {
        {"search",
         {},
         "llama3-70b-search",
         [](const Scenario& s) { return s.pool_search.arrangements.size() == 2; }},
        {"serving.admission",
         admission_names(),
         "mooncake-a800",
         [](const Scenario& s) { return s.serving.admission == "objectives"; }},
        {"serving.engine.scheduler",
         batching(),
         "llama3-70b",
         [](const Scenario& s) { return s.serving.engine.scheduler == "vllm_v1"; }},
        {"serving.engine.queue_order",
         {"arrival", "predicted_length"},
         "llama3-70b-lengths",
         [](const Scenario& s) {
             return s.serving.engine.queue_order == QueueOrder::predicted_length;
         }},
        {"serving.engine.queue_order",
         {"deadline"},
         "hexgen-text2sql",
         [](const Scenario& s) { return s.serving.objectives.e2e != Time{}; }},
        {"serving.cache",
         {"lru", "fifo", "lfu"},
         "llama3-70b-tiers",
         [](const Scenario& s) { return !s.serving.cache.tiers.empty(); }},
        {"serving.pools",
         {name(PoolRole::aggregated), name(PoolRole::prefill), name(PoolRole::decode)},
         "llama3-70b-split",
         [](const Scenario& s) { return s.serving.pools.size() == 2; }},
        {"serving.pools.router",
         request_router_names(),
         "mooncake-a800",
         [](const Scenario& s) { return s.serving.pools[0].router == "first_token"; }},
        {"serving.autoscaler",
         autoscaler_names(),
         "llama3-70b-autoscaled",
         [](const Scenario& s) { return s.serving.autoscaler.policy != "none"; }},
        {"serving.power",
         power_policy_names(),
         "polca-a100",
         [](const Scenario& s) { return s.serving.power.policy == "polca"; }},
        {"faults",
         {"recompute", "copy"},
         "llama3-70b-faults",
         [](const Scenario& s) { return s.serving.recovery.lost_cache == LostCache::copy; }},
    };
}

std::vector<std::string> rows_of_the_table() {
    std::ifstream page{ORRERY_SOURCE_DIR "/docs/guide/serve-policies.md"};
    std::vector<std::string> rows;
    for (std::string line; std::getline(page, line) && !line.starts_with("## ");) {
        if (line.starts_with("| ") && !line.starts_with("| decision")) {
            rows.push_back(line);
        }
    }
    return rows;
}

TEST(ServingPolicies, AllRanksHaveAPromptAfterMorePromptsThanRanks) {
    ServingPoolSpec pool;
    EXPECT_EQ(prompts_for_all_ranks(pool), 1);
    pool.plan.data_parallel_size = 2;
    EXPECT_EQ(prompts_for_all_ranks(pool), 3);
    pool.plan.data_parallel_size = 8;
    EXPECT_EQ(prompts_for_all_ranks(pool), 22);
    pool.role = PoolRole::prefill;
    EXPECT_EQ(prompts_for_all_ranks(pool), 1);
}

TEST(ServingPolicies, EachDecisionOfTheSurveyHasAKeyPoliciesAndAScenario) {
    std::vector<std::string> rows = rows_of_the_table();
    ReadOptions options;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    options.serving = true;
    for (const Decision& decision : decisions()) {
        const std::string file = "scenarios/serving/" + decision.file + ".yaml";
        const auto row = std::ranges::find_if(rows, [&](const std::string& line) {
            return line.find("`" + decision.key + "`") != std::string::npos;
        });
        ASSERT_NE(row, rows.end()) << decision.key;
        EXPECT_NE(row->find("`" + file + "`"), std::string::npos) << *row;
        for (const std::string_view policy : decision.policies) {
            EXPECT_NE(row->find("`" + std::string{policy} + "`"), std::string::npos)
                << decision.key << ": " << policy;
        }
        const auto scenario = read_scenario(std::string{ORRERY_SOURCE_DIR "/"} + file, options);
        ASSERT_TRUE(scenario) << file;
        EXPECT_TRUE(decision.decides(*scenario)) << file;
        rows.erase(row);
    }
    EXPECT_TRUE(rows.empty()) << rows.front();
}

}  // namespace
}  // namespace orrery
