// SPDX-License-Identifier: Apache-2.0
// NVLink domains of several trays (GB200 NVL72) through simulate, search and network.
#include <gtest/gtest.h>

#include "scenarios/studies/campaign/run_campaign.h"
#include "scenarios/studies/network/network_study.h"
#include "scenarios/studies/search/search.h"
#include "scenarios/studies/simulate/degraded_steps.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

// Two domains of four trays with two GPUs and two NICs each, and a job of `gpus`.
Scenario racks(std::uint32_t gpus, const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings{
        "cluster.node={base: gb200-nvl72, gpus_per_node: 8, trays: 4, nics_per_tray: 2}",
        "cluster.fabric=ndr400-rail",
        "cluster.gpus=" + std::to_string(gpus),
        "plan.global_batch_size=" + std::to_string(gpus * 4)};
    settings.insert(settings.end(), more.begin(), more.end());
    return small_scenario("racks", settings);
}

Time busiest(const Scenario& scenario, const std::string& pattern, std::uint32_t ranks = 0) {
    NetworkTrace trace;
    NetworkRequest request{.pattern = pattern, .sizes = {Bytes(1'000'000'000)}};
    request.ranks = ranks;
    const auto answer = study_network(scenario, request, trace);
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? answer->rows.at(0).time : Time{};
}

// NICs of the cluster that carried something, each counted once a direction.
std::size_t busy_nics(const Scenario& scenario, const std::string& pattern, std::uint32_t ranks) {
    NetworkTrace trace;
    NetworkRequest request{.pattern = pattern, .sizes = {Bytes(1'000'000'000)}};
    request.ranks = ranks;
    const auto answer = study_network(scenario, request, trace);
    EXPECT_TRUE(answer) << answer.error().to_string();
    std::size_t used = 0;
    for (const LinkClassUse& use : answer->classes) {
        used += use.link_class == "nic" ? use.used : 0;
    }
    return used;
}

TEST(Trays, OfOneRackTalkOverNvlinkAlone) {
    for (const char* pattern : {"all_reduce", "all_gather", "all_to_all"}) {
        EXPECT_EQ(busy_nics(racks(16), pattern, 8), 0U) << pattern;
        EXPECT_EQ(busy_nics(racks(16), pattern, 16), 2U * 16) << pattern;
    }
}

// Rank to rank, the second rack's four NICs carry both directions. The first rack receives on eight
// and, with PXN, sends on the four whose rail the second has.
TEST(Trays, NicsOfTraysThatTheJobLeavesOutAreIdle) {
    EXPECT_EQ(busy_nics(racks(12), "all_to_all", 0), 4U + 4 + 8 + 4);
}

TEST(Trays, AJobOfAPartlyFilledRackIsSimulatedFoldedAsUnfolded) {
    const std::vector<std::string> tensor{"plan.tensor_model_parallel_size=2"};
    const std::vector<std::string> stages{"plan.tensor_model_parallel_size=2",
                                          "plan.pipeline_model_parallel_size=2",
                                          "plan.data_parallel_sharding_strategy=optim",
                                          "plan.overlap_grad_reduce=true"};
    for (const auto& plan : {tensor, stages}) {
        for (const std::uint32_t gpus : {16U, 12U}) {
            const Scenario scenario = racks(gpus, plan);
            EXPECT_EQ(scenario.plan.model_parallel_size() * scenario.plan.data_parallel_size, gpus);
            const auto folded = simulate_scenario(scenario);
            SimulationOptions options;
            options.fold = false;
            const auto whole = simulate_scenario(scenario, options);
            ASSERT_TRUE(folded && whole);
            EXPECT_EQ(folded->ranks, gpus);
            EXPECT_EQ(folded->iteration, whole->iteration) << gpus;
        }
    }
}

// Every rank of one rack sends to its like in the other: the trays' NICs carry all of it.
TEST(Trays, BandwidthOutOfARackIsThatOfAllItsNics) {
    const auto with_nics = [](const char* nics) {
        return racks(16, {std::string{"cluster.node.nics_per_tray="} + nics});
    };
    const Time two = busiest(with_nics("2"), "pairs");
    const Time one = busiest(with_nics("1"), "pairs");
    EXPECT_NEAR(one / two, 2, 0.1);  // less what starts a message
    // A gigabyte at the 400 Gb/s of the GPU's own NIC.
    EXPECT_NEAR(two.seconds(), 8.0 / 400, 0.2 * 8.0 / 400);
}

TEST(Trays, FewerTraysInTheLastRackMakeACollectiveSlower) {
    EXPECT_GT(busiest(racks(12), "all_reduce"), busiest(racks(16), "all_reduce"));
}

TEST(Trays, ASearchOnAPartlyFilledRackFindsAPlanForItsGpus) {
    const Scenario scenario = racks(12);
    SearchSpec spec;
    spec.clusters = {{.cluster = scenario.cluster, .device = scenario.device}};
    spec.space.context_parallel_size = {1};
    spec.space.schedules = {ScheduleKind::one_f_one_b};
    spec.simulations = 20;
    const auto result = search_plans(scenario, spec);
    ASSERT_TRUE(result) << result.error().to_string();
    const FoundPlan& best = result->best.front();
    EXPECT_EQ(best.plan.model_parallel_size() * best.plan.data_parallel_size, 12);
    Scenario found = scenario;
    found.plan = best.plan;
    const auto answer = simulate_scenario(found);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->iteration, best.answer.iteration);
}

// Trays 6 and 7 are not the job's: every tray that fails is one of six.
TEST(Trays, ACampaignOnAPartlyFilledRackHasTheJobsTrays) {
    Scenario scenario = racks(12, {"campaign={days: 30, seeds: 2, step_time: 1 s}"});
    scenario.recovery = {{.name = "spares", .policies = {HotSpares{.count = 1}}}};
    scenario.faults.processes = {
        {.name = "tray",
         .kind = FaultKind::node_crash,
         .at = {Scope::node, kEvery},
         .interval = {DistributionKind::exponential, WallTime::days(10)}},
        {.name = "leaf",
         .kind = FaultKind::switch_down,
         .at = {Scope::leaf, 1},
         .once = WallTime::days(3)},
    };
    const auto answer = run_campaign_scenario(scenario, {.threads = 1});
    ASSERT_TRUE(answer) << answer.error().to_string();
    EXPECT_EQ(answer->gpus, 12);
    EXPECT_EQ(answer->fault_classes.at(0).components, "6 nodes");
    EXPECT_GT(answer->plans.at(0).interruptions.mean, 5);
    EXPECT_LT(answer->plans.at(0).ettr.mean, 1);
}

TEST(Trays, FailAloneAndLeaveTheirRackUneven) {
    const Scenario scenario = racks(16);
    EXPECT_EQ(scenario.campaign.shape.nodes, 8U);
    EXPECT_EQ(scenario.campaign.shape.gpus_per_node, 2U);
    const JobShape shape = job_shape(scenario);
    EXPECT_EQ(shape.slots, 8U);
    DegradedStepsOptions options;
    options.shrunk = true;
    const auto steps = degraded_steps(scenario, options);
    ASSERT_TRUE(steps) << steps.error().to_string();
    EXPECT_GT(steps->speed.shrunk.at(1), 0.6);
    EXPECT_LT(steps->speed.shrunk.at(1), 1.0);
}

}  // namespace
}  // namespace orrery
