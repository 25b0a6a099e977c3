// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_request_trace.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

std::string error_of(const std::string& name, const std::string& text, TraceBlocks blocks = {}) {
    const TestFolder folder;
    const auto read = read_request_trace(folder.write(name, text), blocks);
    if (read) {
        return "";
    }
    const std::string error = read.error().front().to_string();
    return error.substr(error.find(name));
}

const std::string kTraceHead = "arrival_ms,input_tokens,output_tokens,blocks\n";
const std::string kTraceLine =
    R"({"timestamp": 0, "input_length": 9, "output_length": 5, "hash_ids": )";

TEST(ReadRequestTrace, MooncakesTwoFormsSayTheSame) {
    const TestFolder folder;
    const TraceBlocks blocks{.of_trace = 4, .of_cache = 4};
    const auto lines = read_request_trace(
        folder.write("t.jsonl",
                     R"({"timestamp": 0, "input_length": 13, "output_length": 5, )"
                     R"("hash_ids": [7, 8, 9, 3]})"
                     "\n\n"
                     R"({"timestamp": 3500, "input_length": 8, "output_length": 1, )"
                     R"("hash_ids": [7, 2]})"
                     "\n"),
        blocks);
    const auto table = read_request_trace(
        folder.write("t.csv", "# a comment\n" + kTraceHead + "0,13,5,7-9 3\n3500,8,1,7 2\n"),
        blocks);
    ASSERT_TRUE(lines) << lines.error().front().to_string();
    ASSERT_TRUE(table) << table.error().front().to_string();
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ((*lines)[i].arrival, (*table)[i].arrival);
        EXPECT_EQ((*lines)[i].prompt_tokens, (*table)[i].prompt_tokens);
        EXPECT_EQ((*lines)[i].output_tokens, (*table)[i].output_tokens);
        EXPECT_EQ((*lines)[i].prefix_hashes, (*table)[i].prefix_hashes);
    }
    EXPECT_EQ((*lines)[1].arrival, Time::seconds(3.5));
    ASSERT_EQ((*lines)[0].prefix_hashes.size(), 3U);  // the fourth block is not full
    ASSERT_EQ((*lines)[1].prefix_hashes.size(), 2U);
    EXPECT_EQ((*lines)[0].prefix_hashes[0], (*lines)[1].prefix_hashes[0]);
    EXPECT_NE((*lines)[0].prefix_hashes[1], (*lines)[1].prefix_hashes[1]);
}

TEST(ReadRequestTrace, BlocksOfACacheArePartsOrMultiplesOfTheTraces) {
    const std::vector<std::int64_t> a{4, 5, 6, 7};
    const std::vector<std::int64_t> b{4, 5, 9};
    const auto shared = [&](TraceBlocks blocks, std::int64_t tokens_a, std::int64_t tokens_b) {
        const auto of_a = prefix_hashes_of(a, tokens_a, blocks);
        const auto of_b = prefix_hashes_of(b, tokens_b, blocks);
        std::size_t same = 0;
        while (same < std::min(of_a.size(), of_b.size()) && of_a[same] == of_b[same]) {
            ++same;
        }
        return std::array{of_a.size(), of_b.size(), same};
    };
    using Counts = std::array<std::size_t, 3>;
    EXPECT_EQ(shared({.of_trace = 512, .of_cache = 512}, 2048, 1536), (Counts{4, 3, 2}));
    EXPECT_EQ(shared({.of_trace = 512, .of_cache = 16}, 2040, 1500), (Counts{127, 93, 64}));
    EXPECT_EQ(shared({.of_trace = 512, .of_cache = 1024}, 2048, 1536), (Counts{2, 1, 1}));
    EXPECT_EQ(shared({.of_trace = 512, .of_cache = 0}, 2048, 1536), (Counts{0, 0, 0}));
    EXPECT_NE(error_of("t.csv", kTraceHead + "0,9,5,1\n", {.of_trace = 512, .of_cache = 48})
                  .find("t.csv:2: error: blocks of 512 tokens of a trace are no blocks of 48"),
              std::string::npos);
}

TEST(ReadRequestTrace, TheLargestNumberOfABlockEndsItsRange) {
    const TestFolder folder;
    const auto read = read_request_trace(
        folder.write("t.csv", kTraceHead + "0,9,5,9223372036854775806-9223372036854775807\n"),
        {.of_trace = 4, .of_cache = 4});
    ASSERT_TRUE(read) << read.error().front().to_string();
    EXPECT_EQ(read->front().prefix_hashes.size(), 2U);
}

TEST(ReadRequestTrace, AzuresDatesBecomeSeconds) {
    const TestFolder folder;
    const auto read = read_request_trace(folder.write("t.csv",
                                                      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                                      "2023-11-30 23:59:58.5000000,374,44\n"
                                                      "2023-12-01 00:00:01.7500000,396,109\n"));
    ASSERT_TRUE(read) << read.error().front().to_string();
    EXPECT_EQ((*read)[0].arrival, Time{});
    EXPECT_NEAR((*read)[1].arrival.seconds(), 3.25, 1e-6);
    EXPECT_EQ((*read)[1].prompt_tokens, 396);
    EXPECT_TRUE((*read)[1].prefix_hashes.empty());
}

TEST(ReadRequestTrace, WhatIsTornOrOutOfOrderHasAPlace) {
    EXPECT_NE(error_of("t.csv", kTraceHead + "0,9,5,1\n4,7\n").find("t.csv:3"), std::string::npos);
    EXPECT_NE(error_of("t.csv", kTraceHead + "5,9,5,1\n4,7,1,2\n").find("t.csv:3"),
              std::string::npos);
    EXPECT_NE(error_of("t.csv", kTraceHead + "5,9,5,9-1\n").find("t.csv:2"), std::string::npos);
    EXPECT_NE(error_of("t.jsonl", kTraceLine + "[1]}\n" + kTraceLine + "[1").find("t.jsonl:2"),
              std::string::npos);
    EXPECT_NE(error_of("t.jsonl", kTraceLine + "[-1]}\n").find("t.jsonl:1"), std::string::npos);
    EXPECT_NE(error_of("t.jsonl", "[]\n").find("t.jsonl:1"), std::string::npos);
    EXPECT_NE(error_of("t.csv",
                       "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                       "2023-13-40 00:00:00,1,1\n")
                  .find("t.csv:2"),
              std::string::npos);
    EXPECT_FALSE(read_request_trace("no-such-file.jsonl"));
    EXPECT_NE(error_of("t.jsonl", "").find("the trace has no request"), std::string::npos);
}

}  // namespace
}  // namespace orrery
