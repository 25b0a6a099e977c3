// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/training_log.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

constexpr const char* kMegatronLog = R"(using world size: 64
------------------------ arguments ------------------------
  bf16 ............................................ True
  context_parallel_size ........................... 1
  data_parallel_size .............................. 4
  ffn_hidden_size ................................. 11008
  fp8 ............................................. None
  global_batch_size ............................... 128
  hidden_size ..................................... 4096
  kv_channels ..................................... 128
  micro_batch_size ................................ 2
  num_attention_heads ............................. 32
  num_layers ...................................... 32
0: padded_vocab_size ............................... 32000
  pipeline_model_parallel_size .................... 4
  seq_length ...................................... 4096
  sequence_parallel ............................... True
  swiglu .......................................... True
  tensor_model_parallel_size ...................... 4
  transformer_impl ................................ transformer_engine
  untie_embeddings_and_output_weights ............. True
  use_distributed_optimizer ....................... True
  virtual_pipeline_model_parallel_size ............ None
  world_size ...................................... 64
-------------------- end of arguments ---------------------
 iteration 1/ 9 | elapsed time per iteration (ms): 9000.0 | global batch size:   128 |
 iteration 2/ 9 | elapsed time per iteration (ms): 2400.0 | global batch size:   256 |
 iteration 3/ 9 | elapsed time per iteration (ms): 2410.5 | global batch size:   256 |
)";

constexpr const char* kTitanLog =
    R"([rank0]: GPU capacity: NVIDIA H100 (0) with 95.04GiB memory
[rank0]: Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]
[rank0]: Building llama3 8B with TransformerModelArgs(dim=4096, n_layers=32, n_heads=32, )"
    R"(n_kv_heads=8, vocab_size=128256, multiple_of=1024, ffn_dim_multiplier=1.3)
[rank0]: Applied selective activation checkpointing to the model
[rank0]: Compiling each TransformerBlock with torch.compile
[rank0]: Training starts at step 1, with local batch size 1, global batch size )"
    R"(4, sequence length 8192, total steps 10
[rank0]: step:  1  loss: 12.2  tps: 1,100  mfu: 6.0%
[rank0]: step: 10  loss: 10.2  tps: 4,096  mfu: 34.0%
[rank0]: step: 20  loss: 9.2  tps: 5,950  mfu: 34.5%
)";

TEST(TrainingLog, MegatronsArgumentsAndTimesMakeARow) {
    const auto log = import_training_log(kMegatronLog, "runs/mega.log", {.gpu = "h100-80g"});
    ASSERT_TRUE(log) << log.error().front().what;
    EXPECT_EQ(log->row.at("case"), "mega");
    EXPECT_EQ(log->row.at("num_gpus"), "64");
    EXPECT_EQ(log->row.at("vocab_size"), "32000");
    EXPECT_EQ(log->row.at("num_query_groups"), "32");
    EXPECT_EQ(log->row.at("virtual_pipeline_model_parallel_size"), "1");
    EXPECT_EQ(log->row.at("data_parallel_sharding_strategy"), "optim");
    EXPECT_EQ(log->row.at("precision"), "bf16");
    EXPECT_EQ(log->row.at("flash_attention"), "true");
    EXPECT_EQ(log->row.at("features"), "untied_embeddings");
    EXPECT_EQ(log->row.at("global_batch_size"), "256");  // the last of the ramp
    EXPECT_EQ(log->row.at("measured_iteration_s"), "2.4105");
    EXPECT_EQ(log->assumed, (std::vector<std::string>{"fabric", "nic_gbps_per_gpu"}));
    EXPECT_EQ(log->row.at("assumed"), "fabric;nic_gbps_per_gpu");
}

TEST(TrainingLog, TorchtitansLinesMakeARow) {
    const auto log = import_training_log(kTitanLog, "titan.log", {});
    ASSERT_TRUE(log) << log.error().front().what;
    EXPECT_EQ(log->row.at("gpu"), "h100-96g-hbm2e");
    EXPECT_EQ(log->row.at("num_gpus"), "8");
    EXPECT_EQ(log->row.at("ffn_hidden_size"), "14336");
    EXPECT_EQ(log->row.at("num_query_groups"), "8");
    EXPECT_EQ(log->row.at("tensor_model_parallel_size"), "2");
    EXPECT_EQ(log->row.at("data_parallel_size"), "4");
    EXPECT_EQ(log->row.at("recompute_granularity"), "selective");
    EXPECT_EQ(log->row.at("compile"), "true");
    EXPECT_EQ(log->row.at("fabric"), "nvlink");
    // 4 x 8192 tokens at the median of 4,096 tokens/s on each of 8 GPUs.
    EXPECT_EQ(log->row.at("measured_iteration_s"), "1");
}

TEST(TrainingLog, TellsEverythingThatIsMissing) {
    std::string text = kMegatronLog;
    for (const char* line : {"  num_layers ...................................... 32\n",
                             "  world_size ...................................... 64\n"}) {
        text.erase(text.find(line), std::string{line}.size());
    }
    const auto log = import_training_log(text, "mega.log", {});
    ASSERT_FALSE(log);
    ASSERT_EQ(log.error().size(), 3U);
    EXPECT_EQ(log.error()[0].what, "its arguments have no num_layers");
    EXPECT_EQ(log.error()[1].what, "its arguments have no world_size");
    EXPECT_EQ(log.error()[2].what, "does not say which GPUs ran it");
}

TEST(TrainingLog, RefusesOtherTexts) {
    for (const char* text : {"", "case,family\n", "step", "elapsed time per iteration (ms): x"}) {
        EXPECT_FALSE(import_training_log(text, "x.log", {})) << text;
    }
}

TEST(TrainingLog, ATableHasARowForEachLog) {
    const auto log = import_training_log(kTitanLog, "titan.log", {});
    ASSERT_TRUE(log);
    const std::string table = case_table({*log, *log});
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
    EXPECT_TRUE(table.starts_with("case,family,stack,"));
}

}  // namespace
}  // namespace orrery
