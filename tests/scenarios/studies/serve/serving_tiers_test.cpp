// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/serving_tiers.h"

#include <gtest/gtest.h>

#include "tests/scenarios/served_model.h"

namespace orrery {
namespace {

using namespace literals;

// Two instances of four GPUs on a server. A conversation of long prompts, in caches of 100 blocks.
struct Served {
    Served() {
        spec.pools.front().instances = 2;
        spec.pools.front().plan.tensor_model_parallel_size = 4;
        spec.pools.front().limits.num_blocks = 600;
        WorkloadSpec load{.num_requests = 300, .request_rate = 8};
        load.input_tokens = 400;
        load.output_tokens = 16;
        load.turns = 6;
        load.turn_gap = Time::seconds(4);
        requests = synthetic_requests(load, nullptr, 16);
    }
    ServingAnswer run() { return serve_scenario(scenario, spec, requests, {}).value(); }
    Scenario scenario = served_model();
    ServingSpec spec;
    std::vector<Request> requests;
};

TEST(ServingTiers, WhatTheCachesLostIsLoadedInsteadOfComputed) {
    Served served;
    const ServingAnswer without = served.run();
    served.spec.cache.tiers = {{.kind = TierKind::dram, .capacity = 500_GB}};
    const ServingAnswer with = served.run();
    EXPECT_LT(without.cached_share, 0.6);
    EXPECT_GT(with.cached_share, without.cached_share + 0.1);
    EXPECT_GT(with.loaded_share, 0.1);
    EXPECT_LT(with.ttft_s.mean, without.ttft_s.mean);
    ASSERT_EQ(with.tiers.size(), 1U);
    // 131,072 bytes a token.
    EXPECT_EQ(with.tiers[0].capacity, 500'000'000'000 / (131'072 * 16) * 16);
    EXPECT_EQ(with.tiers[0].written - with.tiers[0].left, with.tiers[0].most);
    // Every GPU of an instance loads its two heads of the tokens.
    EXPECT_EQ(with.loaded.count(), with.tiers[0].loaded * 131'072);
    EXPECT_TRUE(without.tiers.empty());
}

TEST(ServingTiers, TheKeysOfATierHaveAnEffect) {
    Served served;
    served.spec.cache.tiers = {{.kind = TierKind::dram, .capacity = 2_GB}};
    const ServingAnswer base = served.run();
    EXPECT_GT(base.tiers[0].left, 0);
    served.spec.cache.tiers[0].eviction = EvictionPolicy::fifo;
    EXPECT_NE(served.run().tiers[0].loaded, base.tiers[0].loaded);
    served.spec.cache.tiers[0].eviction = EvictionPolicy::lfu;
    EXPECT_NE(served.run().tiers[0].loaded, base.tiers[0].loaded);
    served.spec.cache.tiers[0].eviction = EvictionPolicy::lru;
    served.spec.cache.writes = TierWrites::computed;
    EXPECT_GT(served.run().tiers[0].written, base.tiers[0].written);
    served.spec.cache.writes = TierWrites::evicted;
    served.spec.cache.loading = TierLoading::ahead;
    const ServingAnswer ahead = served.run();
    EXPECT_EQ(ahead.exposed_load_s, 0);
    EXPECT_GT(base.exposed_load_s, 0);
    served.spec.cache.tiers.push_back({.kind = TierKind::nvme, .capacity = 1000_GB});
    const ServingAnswer two = served.run();
    // What the drives have already is not written again.
    EXPECT_GE(two.tiers[0].left, two.tiers[1].written);
    EXPECT_GT(two.tiers[1].written, 0);
    EXPECT_GT(two.cached_share, ahead.cached_share);
}

TEST(ServingTiers, MistakesAreErrors) {
    Served served;
    const auto error = [&] {
        return serve_scenario(served.scenario, served.spec, served.requests, {}).error().what;
    };
    served.spec.cache.tiers = {{.kind = TierKind::dram, .capacity = 1500_GB},
                               {.kind = TierKind::remote, .capacity = 600_GB}};
    EXPECT_EQ(error(), "the tiers of serving.cache take 2100 GB of a server's memory of 2000 GB");
    served.spec.cache.tiers = {{.kind = TierKind::nvme}};
    EXPECT_EQ(error(), "a tier nvme of serving.cache has no capacity");
    served.spec.cache.tiers = {{.kind = TierKind::nvme, .capacity = 1_GB}};
    NodeSpec& node = served.scenario.cluster.node;
    node.nvme_drives = 0;
    node.nvme_read_bandwidth = node.nvme_write_bandwidth = {};
    EXPECT_NE(error().find("says nothing of drives"), std::string::npos) << error();
}

}  // namespace
}  // namespace orrery
