// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/mlperf.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

const std::filesystem::path kOutputs =
    ORRERY_SOURCE_DIR "/scenarios/catalogue/published/mlperf_outputs.csv";

ServingCase server_row() {
    ServingCase row;
    row.engine = "trtllm-mlperf-v5.1";
    row.gpu = "b200";
    row.model = "deepseek-r1";
    row.load = "poisson";
    row.replicas = 4;
    row.request_rate = 80;
    row.input_tokens = 800;
    row.output_tokens = 3700;
    row.ttft_objective_s = 2;
    return row;
}

TEST(Mlperf, TheHarnessDecidesTheEngine) {
    ServingCase row = server_row();
    EXPECT_EQ(mlperf_engine(row), "tensorrt-llm-1");
    row.model = "llama-2-70b";
    EXPECT_EQ(mlperf_engine(row), "tensorrt-llm");
    row.model = "llama-3.1-8b";
    row.max_num_batched_tokens = 1536;
    EXPECT_EQ(mlperf_engine(row), "tensorrt-llm");
    row.max_num_batched_tokens = 12000;
    EXPECT_EQ(mlperf_engine(row), "tensorrt-llm-1");
    row.engine = "vllm-mlperf-v5.1";
    EXPECT_EQ(mlperf_engine(row), "vllm-v1");
    row.gpu = "mi300x";
    EXPECT_EQ(mlperf_engine(row), "vllm-v0");
    row.engine = "vllm-0.11.2";
    EXPECT_FALSE(is_mlperf(row));
    EXPECT_EQ(mlperf_engine(row), "");
}

TEST(Mlperf, TheHarnessSetsTheScheduler) {
    ServingCase row = server_row();
    ServingEngine engine;
    set_mlperf_options(row, engine);
    EXPECT_EQ(engine.scheduler, "tensorrt_llm_max_utilization");
    EXPECT_EQ(engine.captured_batch_multiple, 1);
    engine.captures_generation = true;
    set_mlperf_options(row, engine);
    EXPECT_EQ(engine.captured_batch_multiple, 128);
    EXPECT_EQ(mlperf_prompt_batching(row), 3U);
    row.model = "llama-3.1-8b";
    set_mlperf_options(row, engine);
    EXPECT_EQ(engine.captured_batch_multiple, 4096);  // powers of two
    row.model = "llama-2-70b";
    EXPECT_EQ(mlperf_prompt_batching(row), 0U);
    row.engine = "vllm-mlperf-v5.1";
    row.gpu = "mi300x";
    const auto steps = [&] {
        set_mlperf_options(row, engine);
        return engine.num_scheduler_steps;
    };
    EXPECT_EQ(steps(), 9U);
    EXPECT_EQ(engine.prompts_together, 8U);
    EXPECT_EQ(engine.prompt_wait_steps, 1U);
    row.ttft_objective_s = 0.45;
    EXPECT_EQ(steps(), 8U);
    EXPECT_EQ(engine.prompts_together, 1U);
    EXPECT_EQ(engine.prompt_wait_steps, 0U);
    row.load = "offline";
    row.ttft_objective_s = 0;
    EXPECT_EQ(steps(), 11U);
}

// AMD's harness of v4.1 collects requests for 0.3 s; Red Hat's servers differ by GPU.
TEST(Mlperf, HarnessesDifferByRoundAndGpu) {
    ServingCase row = server_row();
    EXPECT_FALSE(mlperf_collecting(row));
    row.engine = "vllm-mlperf-v4.1";
    row.gpu = "mi300x";
    row.model = "llama-2-70b";
    ServingEngine engine;
    set_mlperf_options(row, engine);
    EXPECT_EQ(engine.num_scheduler_steps, 1U);
    EXPECT_EQ(engine.max_num_seqs, 1024);
    ASSERT_TRUE(mlperf_collecting(row));
    EXPECT_EQ(mlperf_collecting(row)->servers, 4);
    row.load = "offline";
    EXPECT_FALSE(mlperf_collecting(row));
    set_mlperf_options(row, engine);
    EXPECT_EQ(engine.max_num_batched_tokens, 65536);
    row.engine = "vllm-mlperf-v5.1";
    EXPECT_EQ(mlperf_prompt_chunk(row), 0);
    row.gpu = "l40s";
    EXPECT_EQ(mlperf_prompt_chunk(row), 256);
    set_mlperf_options(row, engine);
    EXPECT_EQ(engine.max_num_seqs, 512);
    row.load = "poisson";
    EXPECT_EQ(mlperf_prompt_chunk(row), 0);
    row.gpu = "h100-80g";
    EXPECT_EQ(mlperf_prompt_chunk(row), 256);
    set_mlperf_options(row, engine);
    EXPECT_EQ(engine.max_num_batched_tokens, 1024);
    EXPECT_EQ(engine.piecewise_capture_tokens, 4232);
}

// Ten minutes of a replica's share, which comes in turn with those of the others; of DeepSeek-R1
// five passes of the data set in any case.
TEST(Mlperf, TheLoadOfAReplica) {
    ServingCase row = server_row();
    EXPECT_EQ(mlperf_requests(row), 21940);
    row.request_rate = 400;
    EXPECT_EQ(mlperf_requests(row), 60000);
    row.request_rate = 80;
    row.model = "llama-2-70b";
    EXPECT_EQ(mlperf_requests(row), 12000);
    EXPECT_DOUBLE_EQ(mlperf_arrival_variation(row), 0.5);
    row.request_rate = 1;
    EXPECT_EQ(mlperf_requests(row), 4000);
    row.model = "deepseek-r1";
    row.load = "offline";
    EXPECT_TRUE(runs_whole_data_set(row));
    EXPECT_EQ(mlperf_requests(row), 21940);
    row.model = "llama-2-70b";
    row.max_num_seqs = 4096;
    EXPECT_FALSE(runs_whole_data_set(row));
    EXPECT_EQ(mlperf_requests(row), 8192);
}

// Of three requests the second ends last, and one that was refused counts nothing.
TEST(Mlperf, TokensAreCountedUntilTheLastRequestIsDone) {
    const auto record = [](double arrival, double end, std::int64_t tokens) {
        return RequestRecord{.arrival = Time::seconds(arrival),
                             .last_token = Time::seconds(end),
                             .output_tokens = tokens};
    };
    ServingResult result;
    result.records = {record(1, 5, 30), record(2, 100, 500), record(3, 11, 70)};
    result.records.push_back({.arrival = Time::seconds(4), .refused = true});
    EXPECT_DOUBLE_EQ(mlperf_token_rate(result), 60);
    EXPECT_EQ(mlperf_token_rate({}), 0);
}

TEST(Mlperf, OutputsHaveTheMeanOfTheRowAndTheSpreadOfTheDataSet) {
    ServingCase row = server_row();
    const LengthTable lengths = mlperf_lengths(row, kOutputs).value();
    double mean = 0;
    for (int i = 0; i < 1000; ++i) {
        mean += length_at(lengths, lengths.output_tokens, (i + 0.5) / 1000) / 1000;
    }
    EXPECT_NEAR(mean, 3700, 20);
    EXPECT_LT(length_at(lengths, lengths.output_tokens, 0.5), 2500);
    EXPECT_GT(length_at(lengths, lengths.output_tokens, 0.99), 15000);
    EXPECT_EQ(length_at(lengths, lengths.input_tokens, 0.99), 800);
    row.model = "llama-3.1-8b";
    row.output_tokens = 128;
    const LengthTable equal = mlperf_lengths(row, kOutputs).value();
    EXPECT_NEAR(length_at(equal, equal.output_tokens, 0.01), 128, 1);
    row.model = "another";
    EXPECT_TRUE(mlperf_lengths(row, kOutputs)->shares.empty());
    EXPECT_FALSE(mlperf_lengths(row, "nowhere.csv"));
}

}  // namespace
}  // namespace orrery
