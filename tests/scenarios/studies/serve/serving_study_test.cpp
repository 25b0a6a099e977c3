// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/serving_study.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/studies/serve/cache_blocks.h"
#include "tests/models/known_models.h"
#include "tests/scenarios/served_model.h"

namespace orrery {
namespace {

Scenario server() {
    return served_model();
}

TEST(ServingStudy, LengthsAndArrivalsAreThoseOfTheSeed) {
    const WorkloadSpec spec{.num_requests = 20'000,
                            .request_rate = 5,
                            .input_tokens = 1000,
                            .output_tokens = 100,
                            .length_spread = 0.8};
    const std::vector<Request> requests = synthetic_requests(spec);
    EXPECT_NEAR(requests.back().arrival.seconds(), 4000, 100);
    double prompt = 0;
    for (const Request& request : requests) {
        ASSERT_GE(request.prompt_tokens, 800);
        ASSERT_LE(request.prompt_tokens, 1000);
        ASSERT_GE(request.output_tokens, 80);
        prompt += static_cast<double>(request.prompt_tokens) / 20'000;
    }
    EXPECT_NEAR(prompt, 900, 2);
    WorkloadSpec other = spec;
    other.seed = 1;
    EXPECT_NE(synthetic_requests(other).front().arrival, requests.front().arrival);
    other = spec;
    other.output_tokens = 10;
    EXPECT_EQ(synthetic_requests(other).back().arrival, requests.back().arrival);
}

TEST(ServingStudy, ALoadBeyondTheClockIsAnError) {
    ServingSpec spec;
    spec.engine.host_per_step = Time::seconds(5e6);
    const auto answer =
        serve_scenario(server(), spec, {{.prompt_tokens = 8, .output_tokens = 9}}, {});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().to_string(),
              "workload: error: the load would take longer than 93 days (hint: fewer requests or "
              "tokens, or faster instances)");
}

// vLLM 0.19 on an RTX 4090 (25,250,627,584 B): 0.9 of it less 16.06 GB of weights and 1.24 GB for
// the rest, activations of 2,048 tokens and 256 logits among it, holds 2,588 blocks of 16 tokens of
// Llama 3.1 8B.
TEST(ServingStudy, TheCacheIsWhatWeightsAndTheEngineLeave) {
    DeviceSpec device;
    device.memory = Bytes{25'250'627'584};
    ServingSpec spec;
    spec.engine.reserved_memory = Bytes{830'000'000};
    spec.pools.front().limits.max_num_batched_tokens = 2048;
    spec.pools.front().limits.max_num_seqs = 256;
    const auto blocks = cache_blocks(spec, spec.pools.front(), server().model, device);
    ASSERT_TRUE(blocks);
    EXPECT_NEAR(static_cast<double>(*blocks), 2588, 4);
    spec.engine.share_of_rest = true;
    EXPECT_GT(cache_blocks(spec, spec.pools.front(), server().model, device).value(), *blocks);
    device.memory = Bytes{16'000'000'000};
    const auto none = cache_blocks(spec, spec.pools.front(), server().model, device);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().what,
              "16.1 GB of weights on a GPU of stage 0 leave no room for a key-value cache in "
              "16.0 GB");
}

TEST(ServingStudy, MoreUsersGetMoreTokensAndWaitLonger) {
    const ServingSpec spec;
    double rate = 0;
    double tpot = 0;
    for (const std::int64_t users : {1, 16, 128}) {
        const WorkloadSpec load{.num_requests = 4 * users, .users = users};
        const auto answer =
            serve_scenario(server(), spec, synthetic_requests(load), {.users = users});
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->requests, 4 * users);
        EXPECT_GT(answer->output_tokens_per_s, 2 * rate);
        EXPECT_GT(answer->tpot_s.mean, tpot);
        rate = answer->output_tokens_per_s;
        tpot = answer->tpot_s.mean;
        // Throughput and the time in the system, by Little's law.
        EXPECT_NEAR(answer->requests_per_s * answer->e2e_s.mean,
                    static_cast<double>(users),
                    0.02 * static_cast<double>(users));
    }
}

TEST(ServingStudy, TwoInstancesShareALoad) {
    ServingSpec spec;
    const WorkloadSpec load{.num_requests = 400, .request_rate = 40, .output_tokens = 64};
    const auto one = serve_scenario(server(), spec, synthetic_requests(load), {});
    spec.pools.front().instances = 2;
    const auto two = serve_scenario(server(), spec, synthetic_requests(load), {});
    ASSERT_TRUE(one && two);
    EXPECT_LT(two->ttft_s.p99, one->ttft_s.p99);
    EXPECT_LT(two->tpot_s.mean, one->tpot_s.mean);
}

// Four users fill four instances of one sequence each. Three routers send a request to a busy
// instance while another is idle.
TEST(ServingStudy, RoutersThatDoNotKnowOfEachOtherLeaveInstancesIdle) {
    ServingSpec spec;
    ServingPoolSpec& pool = spec.pools.front();
    pool.instances = 4;
    pool.router = "round_robin";
    pool.limits.max_num_seqs = 1;
    const WorkloadSpec load{.num_requests = 80, .users = 4, .output_tokens = 64};
    const auto requests = synthetic_requests(load);
    const auto one = serve_scenario(server(), spec, requests, {.users = 4});
    pool.num_routers = 3;
    const auto three = serve_scenario(server(), spec, requests, {.users = 4});
    ASSERT_TRUE(one && three);
    EXPECT_GT(three->ttft_s.mean, 2 * one->ttft_s.mean);
    EXPECT_LT(three->output_tokens_per_s, 0.9 * one->output_tokens_per_s);
}

TEST(ServingStudy, PromptsElsewhereDoNotDisturbGeneration) {
    ServingSpec together;
    together.pools.front().instances = 4;
    ServingSpec apart;
    apart.pools = {{.role = PoolRole::prefill, .instances = 2},
                   {.role = PoolRole::decode, .instances = 2}};
    const WorkloadSpec load{
        .num_requests = 400, .request_rate = 15, .input_tokens = 4000, .output_tokens = 100};
    const auto requests = synthetic_requests(load);
    const auto one = serve_scenario(server(), together, requests, {});
    const auto two = serve_scenario(server(), apart, requests, {});
    ASSERT_TRUE(one && two);
    EXPECT_LT(two->tpot_s.p99, one->tpot_s.p99);
    ASSERT_EQ(two->pools.size(), 2U);
    EXPECT_EQ(two->transfers, 400);
    EXPECT_EQ(two->transferred, Bytes{400 * std::int64_t{4000} * 131'072});
    // 524 MB over NVLink, of which one GPU has 450 GB/s.
    EXPECT_GT(two->transfer_s, 524e6 / 450e9);
    EXPECT_LT(two->transfer_s, 10 * 524e6 / 450e9);
}

TEST(ServingStudy, NoDrawnArrivalIsLaterThanTimeCanSay) {
    const WorkloadSpec load{
        .num_requests = 50, .request_rate = 1e-5, .arrival_variation = 100, .seed = 3};
    for (const Request& request : synthetic_requests(load)) {
        EXPECT_GE(request.arrival, Time{});
        EXPECT_LE(request.arrival, Time::seconds(kLongestLoad_s));
    }
}

TEST(ServingStudy, InstancesFitIntoTheCluster) {
    ServingSpec spec;
    spec.pools.front().instances = 9;
    EXPECT_EQ(serve_scenario(server(), spec, {}, {}).error().what,
              "the instances take 9 GPUs, and the cluster has 8");
}

TEST(ServingStudy, UnknownPoliciesAreErrors) {
    ServingSpec spec;
    spec.engine.scheduler = "magic";
    EXPECT_EQ(serve_scenario(server(), spec, {}, {}).error().what, "no scheduler 'magic'");
    spec = {};
    spec.pools.front().router = "magic";
    EXPECT_EQ(serve_scenario(server(), spec, {}, {}).error().what, "no router 'magic'");
}

// A draft helps while steps read weights, and costs when they compute; its weights take room.
TEST(ServingStudy, ProposalsHelpFewSequencesMoreThanMany) {
    const Scenario scenario = server();
    const auto tokens_per_s = [&](std::int64_t users, std::int64_t drafts, bool model) {
        ServingSpec spec;
        spec.speculation.draft_tokens = drafts;
        spec.speculation.acceptance = 0.7;
        if (model) {
            spec.speculation.draft_model = llama(16, 2048, 8192, 8, 128256);
        }
        const WorkloadSpec load{
            .num_requests = 2 * users, .users = users, .input_tokens = 256, .output_tokens = 128};
        return serve_scenario(scenario, spec, synthetic_requests(load), {.users = users})
            ->output_tokens_per_s;
    };
    const double few = tokens_per_s(1, 3, true) / tokens_per_s(1, 0, false);
    const double many = tokens_per_s(512, 3, true) / tokens_per_s(512, 0, false);
    EXPECT_GT(few, 1.2);
    EXPECT_LT(many, few);
    // A draft that costs nothing yields 2.533 tokens a step at most.
    const double free = tokens_per_s(1, 3, false) / tokens_per_s(1, 0, false);
    EXPECT_GT(free, few);
    EXPECT_LT(free, 2.6);

    ServingSpec spec;
    const auto blocks = [&] {
        return cache_blocks(spec, spec.pools.front(), scenario.model, scenario.device).value();
    };
    const std::int64_t without = blocks();
    spec.speculation = {.draft_tokens = 3, .draft_model = llama(16, 2048, 8192, 8, 128256)};
    EXPECT_LT(blocks(), without);
}

TEST(ServingStudy, LengthsAndGapsFollowTheirTable) {
    LengthTable table{
        .shares = {0, 0.5, 1}, .input_tokens = {10, 20, 100}, .output_tokens = {5, 5, 5}};
    WorkloadSpec load{.num_requests = 20'000, .request_rate = 10, .arrival_variation = 3};
    const std::vector<Request> requests = synthetic_requests(load, &table);
    double prompts = 0;
    double gap = 0;
    double square = 0;
    for (std::size_t i = 1; i < requests.size(); ++i) {
        prompts += static_cast<double>(requests[i].prompt_tokens) / 20'000;
        EXPECT_EQ(requests[i].output_tokens, 5);
        const double between = (requests[i].arrival - requests[i - 1].arrival).seconds();
        gap += between / 20'000;
        square += between * between / 20'000;
    }
    EXPECT_NEAR(prompts, (15 + 60) / 2.0, 0.7);
    EXPECT_NEAR(gap, 0.1, 0.01);
    EXPECT_NEAR(std::sqrt(square - gap * gap) / gap, 3, 0.3);
}

TEST(ServingStudy, AdaptersAreAsPopularAsStated) {
    WorkloadSpec workload{.num_requests = 3000, .adapters = 3};
    const auto counts = [&] {
        std::vector<int> of(3, 0);
        for (const Request& request : synthetic_requests(workload)) {
            ++of.at(static_cast<std::size_t>(request.adapter));
        }
        return of;
    };
    for (const int count : counts()) {
        EXPECT_NEAR(count, 1000, 100);
    }
    workload.adapter_popularity = AdapterPopularity::in_turn;
    EXPECT_EQ(counts(), (std::vector<int>{1000, 1000, 1000}));
    EXPECT_EQ(synthetic_requests(workload)[4].adapter, 1);
    workload.adapter_popularity = AdapterPopularity::zipf;
    workload.adapter_alpha = 1;  // weights 1, 1/2, 1/3
    const std::vector<int> skewed = counts();
    EXPECT_NEAR(skewed[0], 1636, 100);
    EXPECT_NEAR(skewed[2], 545, 100);
    workload.adapters = 0;
    EXPECT_EQ(synthetic_requests(workload)[0].adapter, -1);
}

// Alone, an adapter is part of the weights; together, adapters cost kernels of their own.
TEST(ServingStudy, AdaptersInOneStepServeMoreThanOneAfterTheOther) {
    ServingSpec spec;
    spec.pools.front().plan.adapter_rank = 16;
    const WorkloadSpec workload{.num_requests = 40,
                                .input_tokens = 64,
                                .output_tokens = 32,
                                .adapters = 40,
                                .adapter_popularity = AdapterPopularity::in_turn};
    const auto rate = [&](std::int32_t adapter) {
        std::vector<Request> requests = synthetic_requests(workload);
        for (Request& request : requests) {
            request.adapter = adapter < 0 ? request.adapter : adapter;
        }
        const auto answer = serve_scenario(served_model(), spec, requests, {});
        EXPECT_TRUE(answer) << answer.error().to_string();
        return answer->output_tokens_per_s;
    };
    const double different = rate(-1);
    const double same = rate(0);
    spec.engine.mixes_adapters = false;
    EXPECT_GT(different, 5 * rate(-1));
    EXPECT_GT(rate(0), same);
}

}  // namespace
}  // namespace orrery
