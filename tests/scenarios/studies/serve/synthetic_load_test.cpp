// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/synthetic_load.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "tests/test_folder.h"

namespace orrery {
namespace {

std::size_t shared_blocks(const Request& a, const Request& b) {
    std::size_t same = 0;
    while (same < std::min(a.prefix_hashes.size(), b.prefix_hashes.size()) &&
           a.prefix_hashes[same] == b.prefix_hashes[same]) {
        ++same;
    }
    return same;
}

TEST(SyntheticLoad, ATurnBeginsWithTheTurnBeforeAndItsOutput) {
    WorkloadSpec spec{.num_requests = 4000, .request_rate = 2};
    spec.input_tokens = 64;
    spec.output_tokens = 32;
    spec.turns = 4;
    spec.turn_gap = Time::seconds(10);
    const std::vector<Request> requests = synthetic_requests(spec, nullptr, 16);
    ASSERT_EQ(requests.size(), 4000U);
    EXPECT_NEAR(requests.back().arrival.seconds(), 2000, 150);
    // Of lengths that are all equal the n-th turn has 64 n + 32 (n - 1) tokens. Turns are n with
    // probability 1/4 (3/4)^(n-1), so that a quarter of all prompts is a first one.
    std::int64_t first = 0;
    std::set<std::uint64_t> conversations;
    for (const Request& request : requests) {
        EXPECT_EQ((request.prompt_tokens - 64) % 96, 0);
        EXPECT_EQ(static_cast<std::int64_t>(request.prefix_hashes.size()),
                  request.prompt_tokens / 16);
        first += request.prompt_tokens == 64;
        const bool known = !conversations.insert(request.prefix_hashes.front()).second;
        EXPECT_EQ(known, request.prompt_tokens > 64);
    }
    EXPECT_NEAR(static_cast<double>(first), 1000, 60);
    EXPECT_TRUE(synthetic_requests(spec)[0].prefix_hashes.empty());
}

// Every later turn repeats a quarter of what was said: prompts of the turns before it share these
// blocks with it and no others. Lengths and arrivals are those of a load without forks.
TEST(SyntheticLoad, ATurnThatForksRepeatsTheBeginningOnly) {
    WorkloadSpec spec{.num_requests = 400, .request_rate = 0.01};
    spec.input_tokens = 64;
    spec.output_tokens = 64;
    spec.turns = 3;
    spec.turn_gap = Time::seconds(1e-3);
    const std::vector<Request> plain = synthetic_requests(spec, nullptr, 16);
    spec.turn_forks = 1;
    spec.turn_fork_kept = 0.25;
    const std::vector<Request> forked = synthetic_requests(spec, nullptr, 16);
    std::size_t later = 0;
    for (std::size_t i = 1; i < forked.size(); ++i) {
        if (forked[i].prompt_tokens == 64) {
            EXPECT_EQ(shared_blocks(forked[i - 1], forked[i]), 0U);
        } else {
            const std::int64_t said = forked[i].prompt_tokens - 64;
            EXPECT_EQ(static_cast<std::int64_t>(shared_blocks(forked[i - 1], forked[i])),
                      said / 4 / 16);
            ++later;
        }
    }
    EXPECT_GT(later, 200U);
    // A conversation without forks shares the whole prompt before.
    for (std::size_t i = 1; i < plain.size(); ++i) {
        EXPECT_EQ(static_cast<std::int64_t>(shared_blocks(plain[i - 1], plain[i])),
                  plain[i].prompt_tokens == 64 ? 0 : plain[i - 1].prompt_tokens / 16);
    }
}

// With a variation of 1 two turns in the mean are beta-geometric with a = 4 and b = 3: 3/7 of the
// conversations go on after the first turn, 4/8 of these after the second, 5/9 after the third.
TEST(SyntheticLoad, LongConversationsAreLikelierToGoOn) {
    WorkloadSpec spec{.num_requests = 100'000, .request_rate = 1};
    spec.input_tokens = 64;
    spec.output_tokens = 64;
    spec.turns = 2;
    spec.turns_variation = 1;
    spec.turn_gap = Time::seconds(1e-3);
    std::vector<double> turns(5);
    for (const Request& request : synthetic_requests(spec)) {
        const auto later = static_cast<std::size_t>((request.prompt_tokens - 64) / 128);
        turns[std::min<std::size_t>(later, 4)] += 1;
    }
    EXPECT_NEAR(turns[1] / turns[0], 3.0 / 7, 0.01);
    EXPECT_NEAR(turns[2] / turns[1], 4.0 / 8, 0.01);
    EXPECT_NEAR(turns[3] / turns[2], 5.0 / 9, 0.02);
    spec.turns_variation = 0;
    turns.assign(5, 0);
    for (const Request& request : synthetic_requests(spec)) {
        const auto later = static_cast<std::size_t>((request.prompt_tokens - 64) / 128);
        turns[std::min<std::size_t>(later, 4)] += 1;
    }
    EXPECT_NEAR(turns[3] / turns[2], 0.5, 0.02);
}

// Second turns come days later, so that the load has first ones only.
TEST(SyntheticLoad, ConversationsBeginForAsLongAsTheLoadLasts) {
    WorkloadSpec spec{.num_requests = 2000, .request_rate = 8};
    spec.input_tokens = 64;
    spec.output_tokens = 32;
    spec.turns = 8;
    spec.turn_gap = Time::seconds(1e6);
    const std::vector<Request> requests = synthetic_requests(spec, nullptr, 16);
    ASSERT_EQ(requests.size(), 2000U);
    EXPECT_NEAR(requests.back().arrival.seconds(), 2000, 150);
}

// A Poisson process whose time stamps are cut off has lots of a Poisson number.
TEST(SyntheticLoad, CoarseTimeStampsMakeLotsOfRequests) {
    WorkloadSpec spec{.num_requests = 6000, .request_rate = 2, .arrival_step = Time::seconds(3)};
    spec.turns = 1.5;
    spec.turn_gap = Time::seconds(20);
    const auto requests = requests_of(spec);
    ASSERT_TRUE(requests);
    std::map<std::int64_t, double> lots;
    for (const Request& request : *requests) {
        EXPECT_EQ(request.arrival.picoseconds() % Time::seconds(3).picoseconds(), 0);
        ++lots[request.arrival.picoseconds()];
    }
    double squares = 0;
    for (const auto& [time, size] : lots) {
        squares += (size - 6) * (size - 6);
    }
    EXPECT_NEAR(static_cast<double>(lots.size()), 1000, 40);
    EXPECT_NEAR(squares / static_cast<double>(lots.size()), 6, 1);
    spec.arrival_step = Time{};
    EXPECT_NE(requests_of(spec)->front().arrival, Time{});
}

TEST(SyntheticLoad, MoreBlocksThanMemoryHoldsAreAnError) {
    WorkloadSpec spec{.num_requests = 1000, .request_rate = 8};
    spec.turns = 2;
    spec.input_tokens = 1e9;
    const auto requests = requests_of(spec, 16);
    ASSERT_FALSE(requests);
    EXPECT_NE(requests.error().front().what.find("9.4e+10 blocks"), std::string::npos)
        << requests.error().front().what;
}

TEST(SyntheticLoad, AllPromptsShareTheTokensOfTheSystem) {
    WorkloadSpec spec{.num_requests = 10, .request_rate = 2};
    spec.input_tokens = 100;
    spec.system_tokens = 50;
    const std::vector<Request> requests = synthetic_requests(spec, nullptr, 16);
    EXPECT_EQ(requests[0].prompt_tokens, 150);
    for (std::size_t i = 1; i < requests.size(); ++i) {
        EXPECT_EQ(shared_blocks(requests[0], requests[i]), 3U);
    }
}

// The lengths of a load do not depend on what ran before.
TEST(SyntheticLoad, TheFirstPromptsRanBefore) {
    WorkloadSpec spec{.num_requests = 3, .users = 1};
    spec.input_tokens = 100;
    spec.length_spread = 0.5;
    const std::vector<Request> fresh = synthetic_requests(spec, nullptr, 16);
    spec.repeated_requests = 2;
    const std::vector<Request> requests = synthetic_requests(spec, nullptr, 16);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(requests[i].prompt_tokens, fresh[i].prompt_tokens);
        EXPECT_EQ(requests[i].repeated, i < 2);
        const std::int64_t blocks = i < 2 ? requests[i].prompt_tokens / 16 : 0;
        EXPECT_EQ(std::ssize(requests[i].prefix_hashes), blocks);
    }
    EXPECT_EQ(shared_blocks(requests[0], requests[1]), 0U);
    spec.num_requests = spec.repeated_requests = 10'000'000;
    spec.input_tokens = 1e9;
    EXPECT_NE(requests_of(spec, 16).error().front().hint.find("fewer repeated_requests"),
              std::string::npos);
}

TEST(SyntheticLoad, ClientsSendAtTheirOwnRates) {
    const TestFolder folder;
    WorkloadSpec spec{.num_requests = 30'000};
    spec.clients = folder.write(
        "c.csv",
        "workload,rate_per_s,gap_cv,input_p50,input_p90,input_p99,output_p50,output_p90,output_"
        "p99\nchat,2,1,10,10,10,5,5,5\nchat,8,3,1000,1000,1000,7,7,7\ncode,9,1,1,1,1,1,1,1\n");
    spec.client_group = "chat";
    const auto requests = requests_of(spec);
    ASSERT_TRUE(requests) << requests.error().front().to_string();
    EXPECT_NEAR(requests->back().arrival.seconds(), 3000, 150);
    std::int64_t of_first = 0;
    for (const Request& request : *requests) {
        of_first += request.prompt_tokens <= 10;
    }
    EXPECT_NEAR(static_cast<double>(of_first), 6000, 300);
    spec.request_rate = 100;
    EXPECT_NEAR(requests_of(spec)->back().arrival.seconds(), 300, 15);
}

// Calls of first stages stand before all calls of later stages.
TEST(SyntheticLoad, WorkflowsHaveTheCallsOfTheirStages) {
    WorkloadSpec spec{.num_requests = 3, .request_rate = 1};
    spec.lengths = testing::TempDir() + "/load_stages.csv";
    std::ofstream{spec.lengths} << "calls,input_tokens,output_tokens\n2,10,1\n1,20,3\n";
    const auto requests = requests_of(spec);
    ASSERT_TRUE(requests);
    ASSERT_EQ(requests->size(), 9U);
    EXPECT_EQ((*requests)[5].workflow, 3U);
    EXPECT_EQ((*requests)[5].stage, 0U);
    EXPECT_EQ((*requests)[8].workflow, 3U);
    EXPECT_EQ((*requests)[8].stage, 1U);
    EXPECT_EQ((*requests)[8].prompt_tokens, 20);
    EXPECT_EQ((*requests)[8].arrival, (*requests)[5].arrival);
    spec.num_requests = 3'333'334;
    EXPECT_FALSE(requests_of(spec));
    spec.num_requests = 3;
    spec.users = 2;
    EXPECT_FALSE(requests_of(spec));
}

// Whole blocks of a template are shared by all calls whose template is as long, and no others.
TEST(SyntheticLoad, CallsWithTheSameTemplateBeginAlike) {
    WorkloadSpec spec{.num_requests = 2, .request_rate = 1};
    spec.lengths = testing::TempDir() + "/load_templates.csv";
    std::ofstream{spec.lengths} << "stage,calls,input_tokens,output_tokens,template_tokens\n"
                                   "1,2,100,1,40\n1,1,100,1,64\n2,1,90,1,40\n";
    const auto requests = requests_of(spec, 16);
    ASSERT_TRUE(requests);
    ASSERT_EQ(requests->size(), 8U);
    const auto alike = [&](std::size_t a, std::size_t b) {
        const auto& first = (*requests)[a].prefix_hashes;
        const auto& second = (*requests)[b].prefix_hashes;
        return std::ranges::mismatch(first, second).in1 - first.begin();
    };
    EXPECT_EQ((*requests)[0].prefix_hashes.size(), 6U);  // whole blocks of the prompt
    EXPECT_EQ(alike(0, 1), 2);                           // two calls of a row
    EXPECT_EQ(alike(0, 2), 0);                           // of another template
    EXPECT_EQ(alike(0, 6), 2);                           // of a later stage with the same one
    EXPECT_EQ(alike(2, 5), 4);                           // of another workflow
    EXPECT_TRUE((*requests_of(spec, 0))[0].prefix_hashes.empty());
    spec.num_requests = 9'000;
    std::ofstream{spec.lengths} << "calls,input_tokens,output_tokens,template_tokens\n"
                                   "1,1000000000,1,16\n";
    EXPECT_FALSE(requests_of(spec, 16));
}

// The sums of tokens that SGLang's cookbook prints for 80 random prompts of up to 1,000 tokens and
// as many outputs (docs/autoregressive/Llama/Llama3.1.md): bench_serving.py seeds NumPy with 1.
TEST(SyntheticLoad, NumpyDrawsTheLengthsOfAPublishedBenchmark) {
    WorkloadSpec spec{.num_requests = 80, .users = 16};
    spec.input_tokens = 1000;
    spec.output_tokens = 1000;
    spec.length_spread = 0;
    spec.length_draws = LengthDraws::numpy;
    spec.seed = 1;
    std::int64_t inputs = 0;
    std::int64_t outputs = 0;
    for (const Request& request : synthetic_requests(spec)) {
        inputs += request.prompt_tokens;
        outputs += request.output_tokens;
    }
    EXPECT_EQ(inputs, 39'668);
    EXPECT_EQ(outputs, 40'805);
    spec.length_spread = 0.8;
    for (const Request& request : synthetic_requests(spec)) {
        EXPECT_GE(request.prompt_tokens, 800);
        EXPECT_LE(request.prompt_tokens, 1000);
    }
}

}  // namespace
}  // namespace orrery
