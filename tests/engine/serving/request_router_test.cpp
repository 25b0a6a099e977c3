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

// Each of three routers takes every third request, and each visits all instances before it comes
// back to one. Together they do not: what one chose, another may choose next.
TEST_F(RequestRouterTest, RoutersThatDoNotKnowOfEachOtherHaveTurnsOfTheirOwn) {
    const auto routers = make_request_router("round_robin", 1, 3);
    std::array<std::array<int, 3>, 3> counts{};  // by router and instance
    std::array<std::size_t, 9> choices{};
    for (std::size_t i = 0; i < choices.size(); ++i) {
        choices.at(i) = routers->choose(requests[3], seen);
        ++counts.at(i % 3).at(choices.at(i));
    }
    for (const auto& of_router : counts) {
        EXPECT_EQ(of_router, (std::array{1, 1, 1}));
    }
    bool collides = false;
    for (std::size_t i = 1; i < choices.size(); ++i) {
        collides = collides || choices.at(i) == choices.at(i - 1);
    }
    EXPECT_TRUE(collides);
    const auto again = make_request_router("round_robin", 1, 3);
    for (const std::size_t choice : choices) {
        EXPECT_EQ(again->choose(requests[3], seen), choice);
    }
    const auto single = make_request_router("round_robin", 1);
    for (std::size_t i = 0; i < choices.size(); ++i) {
        EXPECT_EQ(single->choose(requests[3], seen), i % 3);
    }
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
