// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/format/read/read_serving.h"
#include "tests/scenarios/served_text.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(ReadWorkload, ALoadOfMonthsIsAnError) {
    EXPECT_EQ(first_error("{}", "{num_requests: 1000, request_rate: 1e-5}"),
              "s.yaml:5:32: error: 1000 requests at 1e-05 a second come over more than 58 days "
              "(hint: at most 50 requests, or a higher rate)");
    EXPECT_TRUE(read_served_text("{}", "{num_requests: 50, request_rate: 1e-5}"));
}

TEST(ReadWorkload, MistakesHaveAPlaceAndAHint) {
    EXPECT_EQ(first_error("{}", "{users: 3, request_rate: 2}"),
              "s.yaml:5:22: error: users of a closed load send when their last request has ended "
              "(hint: users or request_rate)");
    EXPECT_NE(first_error("{}", "{trace: t.csv, input_tokens: 9}").find("a trace is given"),
              std::string::npos);
    EXPECT_NE(first_error("{}", "[]").find("workload must be a map"), std::string::npos);
    EXPECT_NE(first_error("{}", "{adapter_popularity: all}").find("in_turn, uniform, zipf"),
              std::string::npos);
    EXPECT_NE(first_error("{}", "{adapters: -1}").find("out of range"), std::string::npos);
}

TEST(ReadWorkload, KeysThatWouldHaveNoEffectAreErrors) {
    const auto says = [](const std::string& workload, const std::string& what) {
        const std::string error = first_error("{}", workload);
        EXPECT_NE(error.find(what), std::string::npos) << workload << ": " << error;
    };
    for (const char* const key : {"length_spread: 0.5",
                                  "length_draws: numpy",
                                  "arrival_variation: 2",
                                  "arrival_step: 3 s",
                                  "repeated_requests: 2",
                                  "turns: 3",
                                  "turns_variation: 2",
                                  "turn_tokens: 5",
                                  "turn_forks: 0.1",
                                  "turn_fork_kept: 0.3",
                                  "turn_gap: 1 s",
                                  "system_tokens: 9"}) {
        says("{trace: t.csv, " + std::string{key} + "}", "a trace is given");
        says("{clients: c.csv, " + std::string{key} + "}", "workload.clients stands for");
    }
    says("{client_group: chat}", "is of a table of clients");
    says("{trace_block_tokens: 64}", "is of the blocks of a trace");
    says("{lengths: l.csv, length_draws: numpy}", "workload.lengths stands for");
    says("{length_draws: numpy}", "is of lengths that differ");
    says("{request_rate: 2, turns: 3, length_spread: 0.5, length_draws: numpy}",
         "numpy is not of conversations");
    says("{request_rate: 2, turn_gap: 9 s}", "is of conversations");
    says("{request_rate: 2, turns_variation: 2}", "is of conversations");
    says("{request_rate: 2, turns: 4, turns_variation: 0.8}", "is not more");
    says("{request_rate: 2, turn_forks: 0.1}", "is of conversations");
    says("{request_rate: 2, turns: 3, turn_fork_kept: 0.3}", "is of turns that fork");
    says("{users: 2, arrival_variation: 2}", "is of requests that come at a rate");
    says("{users: 2, arrival_step: 3 s}", "is of requests that come at a rate");
    says("{request_rate: 2, turns: 3, repeated_requests: 2}", "are not of conversations");
    says("{num_requests: 5, repeated_requests: 6}", "are some of the 5 requests");
    says("{adapter_popularity: uniform}", "is of adapters");
    EXPECT_NE(first_error("{engine: {base: vllm-v1, mixes_adapters: false}}",
                          "{adapters: 3, adapter_alpha: 2}")
                  .find("is of adapters by zipf"),
              std::string::npos);
}

TEST(ReadWorkload, AdaptersOfOneStepHaveARank) {
    EXPECT_EQ(first_error("{}", "{adapters: 3}"),
              "s.yaml:5:22: error: workload.adapters needs the rank of the adapters (hint: "
              "serving.pools.adapter_rank: 16)");
    // In the weights an adapter costs nothing.
    EXPECT_EQ(first_error("{engine: {base: vllm-v1, mixes_adapters: false}}", "{adapters: 3}"), "");
}

TEST(ReadWorkload, AdaptersHaveANumberAndAPopularity) {
    const auto read = read_served_text(
        "{engine: {base: vllm-v1, mixes_adapters: false}, pools: {adapter_rank: 8}}",
        "{adapters: 7, adapter_popularity: zipf, adapter_alpha: 2}");
    ASSERT_TRUE(read) << read.error().front().to_string();
    EXPECT_FALSE(read->serving.engine.mixes_adapters);
    EXPECT_EQ(read->serving.pools.front().plan.adapter_rank, 8);
    EXPECT_EQ(read->workload.adapters, 7);
    EXPECT_EQ(read->workload.adapter_popularity, AdapterPopularity::zipf);
    EXPECT_DOUBLE_EQ(read->workload.adapter_alpha, 2);
}

TEST(ReadWorkload, LengthsMayBeDrawnAsNumpyDoes) {
    const auto read = read_served_text("{}", "{length_spread: 0.8, length_draws: numpy, seed: 1}");
    ASSERT_TRUE(read) << read.error().front().to_string();
    EXPECT_EQ(read->workload.length_draws, LengthDraws::numpy);
}

TEST(ReadWorkload, ATraceIsInOrder) {
    const TestFolder folder;
    const std::string head = "arrival_s,input_tokens,output_tokens\n";
    const auto good = read_request_trace(folder.write("t.csv", head + "0,5,6\n0.5,7,8\n"));
    ASSERT_TRUE(good);
    ASSERT_EQ(good->size(), 2U);
    EXPECT_EQ((*good)[1].arrival, Time::seconds(0.5));
    EXPECT_EQ((*good)[1].prompt_tokens, 7);
    EXPECT_EQ((*good)[1].output_tokens, 8);
    for (const char* wrong :
         {"1,5,6\n0.5,7,8\n", "-1,5,6\n", "0,0,6\n", "0,5,x\n", "nan,5,5\n", ""}) {
        EXPECT_FALSE(read_request_trace(folder.write("t.csv", head + wrong))) << wrong;
    }
    EXPECT_FALSE(read_request_trace("no-such-file.csv"));
}

}  // namespace
}  // namespace orrery
