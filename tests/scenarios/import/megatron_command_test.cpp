// SPDX-License-Identifier: Apache-2.0
#include "scenarios/import/megatron_command.h"

#include <gtest/gtest.h>

#include "scenarios/reader.h"

namespace orrery {
namespace {

// GPT-3 175B as Megatron-LM's README launches it.
constexpr const char* k175B = R"(torchrun --nproc_per_node 8 --nnodes=128 pretrain_gpt.py \
    --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 \
    --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 1536 \
    --train-samples 146484375 --lr 6.0e-5 --bf16 --use-distributed-optimizer \
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 \
    --num-layers-per-virtual-pipeline-stage 3 --sequence-parallel \
    --recompute-activations --data-path my-data --invented-flag 3 4
)";

ResultOrErrors<ImportedScenario> import(const std::string& text) {
    return import_megatron(split_command(text, "run.sh").value(), {});
}

std::string errors(const std::string& text) {
    const auto imported = import(text);
    std::string all;
    for (const Error& error : imported ? Errors{} : imported.error()) {
        all += error.to_string() + "\n";
    }
    return all;
}

TEST(ImportMegatron, TheScenarioHasWhatTheCommandLineSays) {
    const auto imported = import(k175B);
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    const auto scenario = read_scenario_text(imported->yaml, "imported", ".", {});
    ASSERT_TRUE(scenario) << scenario.error().front().to_string() << imported->yaml;
    EXPECT_EQ(scenario->cluster.num_nodes, 128u);
    EXPECT_EQ(scenario->model.num_layers, 96);
    EXPECT_EQ(scenario->model.vocab_size, 51200);  // 50257 up to a multiple of 128 * 8
    EXPECT_EQ(scenario->plan.tensor_model_parallel_size, 8);
    EXPECT_EQ(scenario->plan.virtual_pipeline_model_parallel_size, 2);
    EXPECT_TRUE(scenario->plan.sequence_parallel);
    EXPECT_EQ(scenario->plan.data_parallel_sharding_strategy, ShardingStrategy::optim);
    EXPECT_EQ(scenario->plan.recompute_granularity, Recompute::selective);
    EXPECT_EQ(scenario->plan.precision, Dtype::bf16);
    EXPECT_EQ(scenario->plan.global_batch_size, 1536);
}

TEST(ImportMegatron, UnknownFlagsAreListedWithTheirValues) {
    const auto imported = import(k175B);
    ASSERT_TRUE(imported);
    EXPECT_EQ(imported->unknown, std::vector<std::string>{"--invented-flag 3 4"});
    EXPECT_NE(imported->yaml.find("# not known, and left out: --invented-flag 3 4"),
              std::string::npos);
    EXPECT_EQ(imported->without_effect,
              (std::vector<std::string>{
                  "--max-position-embeddings", "--train-samples", "--lr", "--data-path"}));
}

TEST(ImportMegatron, LlamaFlagsMakeALlama) {
    const auto imported = import(
        "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 "
        "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 8192 "
        "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
        "--untie-embeddings-and-output-weights --vocab-size 128256 --tokenizer-type Llama3 "
        "--micro-batch-size 1 --global-batch-size 128 --bf16 --fp8-format hybrid "
        "--use-megatron-fsdp --cp-comm-type a2a --context-parallel-size 2");
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    EXPECT_TRUE(imported->unknown.empty());
    const auto scenario = read_scenario_text(imported->yaml, "imported", ".", {});
    ASSERT_TRUE(scenario) << scenario.error().front().to_string();
    EXPECT_EQ(scenario->model.num_query_groups, 8);
    EXPECT_EQ(scenario->model.activation, Activation::swiglu);
    EXPECT_EQ(scenario->model.normalization, Normalization::rmsnorm);
    EXPECT_FALSE(scenario->model.tied_embeddings);
    EXPECT_EQ(scenario->model.vocab_size, 128256);
    EXPECT_EQ(scenario->plan.precision, Dtype::fp8);
    EXPECT_EQ(scenario->plan.data_parallel_sharding_strategy, ShardingStrategy::optim_grads_params);
    EXPECT_EQ(scenario->plan.context_parallel_comm, ContextParallelComm::all_to_all);
    EXPECT_EQ(scenario->cluster.num_nodes, 1u);
}

TEST(ImportMegatron, MistakesNameFileLineAndFlag) {
    const std::string all = errors(
        "--num-layers abc\n--hidden-size $HIDDEN\n--num-experts 8\n--seq-length\n"
        "--micro-batch-size 1 2\n");
    EXPECT_NE(all.find("run.sh:1:14: error: --num-layers: 'abc' is not a whole number"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("run.sh:2:15: error: --hidden-size has the shell variable '$HIDDEN'"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("run.sh:3:1: error: --num-experts: mixture-of-experts"), std::string::npos);
    EXPECT_NE(all.find("run.sh:4:1: error: --seq-length needs a value"), std::string::npos) << all;
    EXPECT_NE(all.find("'2' is a second"), std::string::npos) << all;
    EXPECT_NE(all.find("has no --global-batch-size"), std::string::npos) << all;
}

TEST(ImportMegatron, AVocabularyThatNobodySaysIsAsked) {
    EXPECT_NE(errors("--num-layers 2 --tokenizer-type Llama3Tokenizer").find("--vocab-size N"),
              std::string::npos);
    EXPECT_NE(errors("python train.py").find("no flags"), std::string::npos);
}

}  // namespace
}  // namespace orrery
