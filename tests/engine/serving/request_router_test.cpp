// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/request_router.h"

#include <gtest/gtest.h>

#include <array>

namespace orrery {
namespace {

class RequestRouterTest : public ::testing::Test {
protected:
    RequestRouterTest() {
        for (int i = 0; i < 3; ++i) {
            instances.push_back(std::make_unique<BatchScheduler>(
                *find_batching_rules("vllm_v1"),
                SchedulerLimits{.block_size = 4, .num_blocks = 100},
                requests));
            seen.push_back(instances.back().get());
        }
    }
    void submit(std::size_t instance, std::uint32_t request) {
        instances[instance]->submit(static_cast<RequestId>(request));
    }
    std::size_t choose(std::string_view name) {
        return make_request_router(name, 1)->choose(requests[3], seen);
    }

    std::vector<Request> requests{{.prompt_tokens = 50},
                                  {.prompt_tokens = 8, .prefix_hashes = {7, 8}},
                                  {.prompt_tokens = 8},
                                  {.prompt_tokens = 40, .prefix_hashes = {7, 8, 9}}};
    std::vector<std::unique_ptr<BatchScheduler>> instances;
    std::vector<const BatchScheduler*> seen;
};

TEST_F(RequestRouterTest, EachNameMakesARouterThatChoosesAnInstance) {
    for (const std::string_view name : request_router_names()) {
        const std::unique_ptr<RequestRouter> router = make_request_router(name, 1);
        ASSERT_NE(router, nullptr) << name;
        std::array<int, 3> counts{};
        for (int i = 0; i < 300; ++i) {
            ++counts.at(router->choose(requests[3], seen));
        }
        const bool spreads = name == "round_robin" || name == "random" || name == "power_of_two";
        EXPECT_EQ(counts[1] > 50 && counts[2] > 50, spreads) << name;
    }
    EXPECT_EQ(make_request_router("by_magic", 1), nullptr);
}

TEST_F(RequestRouterTest, LoadsAreRequestsOrTokens) {
    submit(0, 1);
    submit(0, 2);
    submit(1, 0);
    submit(2, 3);
    submit(2, 1);
    EXPECT_EQ(choose("least_requests"), 1U);
    EXPECT_EQ(choose("least_tokens"), 0U);
}

// A step that is under way leaves no token pending: the idle instance is taken all the same.
TEST_F(RequestRouterTest, OfEqualTokensTheFewestRequestsCount) {
    submit(0, 2);
    const Batch under_way = instances[0]->next();
    ASSERT_FALSE(under_way.steps.empty());
    ASSERT_EQ(instances[0]->num_running(), 1);
    ASSERT_EQ(instances[0]->pending_tokens(), instances[1]->pending_tokens());
    EXPECT_EQ(choose("least_tokens"), 1U);
    EXPECT_EQ(choose("prefix_aware"), 1U);
}

TEST_F(RequestRouterTest, ACachedPrefixIsWorthItsTokens) {
    submit(1, 1);
    std::vector<Sampled> sampled;
    instances[1]->complete(instances[1]->next(), sampled);
    EXPECT_EQ(choose("prefix_aware"), 1U);
    submit(1, 0);
    EXPECT_EQ(choose("prefix_aware"), 0U);
}

}  // namespace
}  // namespace orrery
