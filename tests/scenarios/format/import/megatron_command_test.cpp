// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/megatron_command.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/format/read/reader.h"

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
    return import_megatron(launch_command(text, "run.sh").value().words, {});
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

TEST(ImportMegatron, PipelineGroupsMayComeBeforeDataParallelGroups) {
    const auto rank_order = [](const std::string& more) {
        std::string text = k175B;
        const auto imported = import(text.insert(text.find("--bf16"), more));
        return read_scenario_text(imported.value().yaml, "imported", ".", {})->plan.rank_order;
    };
    EXPECT_EQ(rank_order(""), RankOrder::tp_cp_dp_pp);
    EXPECT_EQ(rank_order("--use-tp-pp-dp-mapping "), RankOrder::tp_cp_pp_dp);
}

// torchrun's nodes are the trays of an NVLink domain: 25 of them are one whole rack and seven more.
TEST(ImportMegatron, NodesOfTheCommandLineAreTrays) {
    const auto racks = [](const std::string& trays) {
        const auto words = launch_command("torchrun --nproc-per-node 4 --nnodes " + trays +
                                              " pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
                                              "--num-attention-heads 32 --seq-length 4096 "
                                              "--vocab-size 50257 --bf16 --micro-batch-size 1 "
                                              "--global-batch-size 3600 "
                                              "--tensor-model-parallel-size 4 --lr 1e-4",
                                          "run.sh");
        EXPECT_TRUE(words);
        const auto imported = import_megatron(
            words->words, {.node = "gb200-nvl72", .gpus_per_node = 72, .trays = 18});
        EXPECT_TRUE(imported) << imported.error().front().to_string();
        const auto scenario = read_scenario_text(imported->yaml, "imported", ".", {});
        EXPECT_TRUE(scenario) << scenario.error().front().to_string() << imported->yaml;
        return scenario ? scenario->cluster : ClusterSpec{};
    };
    EXPECT_EQ(racks("25").num_nodes, 2u);
    EXPECT_EQ(racks("25").num_ranks(), 100u);
    EXPECT_EQ(racks("36").num_nodes, 2u);
    EXPECT_EQ(racks("36").num_ranks(), 144u);
}

TEST(ImportMegatron, TheSoftwareIsWhatTheFlagsBelongTo) {
    const auto software = [](const std::string& more, const MegatronImport& options) {
        const std::string text = std::string{k175B}.substr(0, std::string{k175B}.size() - 1) + more;
        const auto imported =
            import_megatron(launch_command(text + "\n", "run.sh").value().words, options);
        return read_scenario_text(imported.value().yaml, "imported", ".", {}).value().software;
    };
    EXPECT_EQ(software("", {}), "megatron-core");
    EXPECT_EQ(software(" --use-legacy-models", {}), "megatron-lm");
    EXPECT_EQ(software(" --deepspeed --deepspeed_config ds.json", {}), "megatron-deepspeed");
    EXPECT_EQ(software("", {.software = "nemo-24.05"}), "nemo-24.05");
}

TEST(ImportMegatron, RecomputationIsOfLayersOrModules) {
    std::string command = k175B;
    const std::string flag = "--recompute-activations";
    const auto with = [&](const std::string& flags) {
        std::string changed = command;
        return changed.replace(changed.find(flag), flag.size(), flags);
    };
    const auto plan = [&](const std::string& flags) {
        const auto imported = import(with(flags));
        EXPECT_TRUE(imported) << imported.error().front().to_string();
        const auto scenario = read_scenario_text(imported->yaml, "imported", ".", {});
        EXPECT_TRUE(scenario) << scenario.error().front().to_string() << imported->yaml;
        return scenario ? scenario->plan : ParallelPlan{};
    };
    const ParallelPlan blocks =
        plan("--recompute-granularity full --recompute-method block --recompute-num-layers 2");
    EXPECT_EQ(blocks.recompute_granularity, Recompute::full);
    EXPECT_EQ(blocks.recompute_method, RecomputeMethod::block);
    EXPECT_EQ(blocks.recompute_num_layers, 2);
    const ParallelPlan modules =
        plan("--recompute-granularity selective --recompute-modules layernorm mlp");
    EXPECT_EQ(modules.recompute_modules,
              static_cast<std::uint32_t>(RecomputeModule::layernorm) |
                  static_cast<std::uint32_t>(RecomputeModule::mlp));
    EXPECT_NE(errors(with("--recompute-modules mo")).find("no module mo"), std::string::npos);
    EXPECT_NE(errors(with("--recompute-modules linear")).find("no module linear"),
              std::string::npos);  // Orrery's own
}

TEST(ImportMegatron, UnknownFlagsAreListedWithTheirValues) {
    const auto imported = import(k175B);
    ASSERT_TRUE(imported);
    EXPECT_EQ(imported->unknown, std::vector<std::string>{"--invented-flag 3 4"});
    EXPECT_NE(imported->yaml.find("# not known, and left out: --invented-flag 3 4"),
              std::string::npos);
    EXPECT_EQ(
        imported->without_effect,
        (std::vector<std::string>{"--max-position-embeddings", "--train-samples", "--data-path"}));
    EXPECT_NE(imported->yaml.find("depend on it: --train-samples"), std::string::npos);
}

TEST(ImportMegatron, TrainingOptionsBecomeTheJob) {
    const auto imported =
        import(std::string{k175B}.substr(0, std::string{k175B}.size() - 1) +
               " --min-lr 6e-6 --lr-warmup-iters 100 --train-iters 5000 --weight-decay 0.01 "
               "--clip-grad 0.5 --adam-beta1 0.8 --adam-beta2 0.98 --adam-eps 1e-7 --seed 7 "
               "--log-interval 5 --eval-interval 50 --eval-iters 3\n");
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    const auto scenario = read_scenario_text(imported->yaml, "imported", ".", {});
    ASSERT_TRUE(scenario) << scenario.error().front().to_string() << imported->yaml;
    const TrainingJob& job = scenario->job.training;
    EXPECT_EQ(job.learning_rate, 6e-5);
    EXPECT_EQ(job.min_learning_rate, 6e-6);
    EXPECT_EQ(job.warmup_steps, 100);
    EXPECT_EQ(job.weight_decay, 0.01);
    EXPECT_EQ(job.clip_grad, 0.5);
    EXPECT_EQ(job.adam_beta1, 0.8);
    EXPECT_EQ(job.adam_beta2, 0.98);
    EXPECT_EQ(job.adam_epsilon, 1e-7);
    EXPECT_EQ(job.seed, 7u);
    EXPECT_EQ(job.log_interval, 5);
    EXPECT_EQ(job.eval_interval, 50);
    EXPECT_EQ(job.eval_steps, 3);
    // How many steps a run without a dataset simulates is another matter than a training's length.
    EXPECT_EQ(scenario->job.steps, Job{}.steps);
    EXPECT_NE(std::ranges::find(imported->without_effect, "--train-iters"),
              imported->without_effect.end());
}

TEST(ImportMegatron, WhatNoFlagSaysIsListed) {
    const auto imported = import(
        "pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 "
        "--micro-batch-size 1 --global-batch-size 8");
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    EXPECT_EQ(imported->assumed,
              (std::vector<std::string>{
                  "plan.precision: fp32", "model.vocab_size: 50304", "cluster.nodes: 1"}));
    EXPECT_NE(imported->yaml.find("# not in the command line: plan.precision: fp32"),
              std::string::npos);
    EXPECT_EQ(import(k175B)->assumed,
              (std::vector<std::string>{"model.vocab_size: 51200", "plan.overlap_p2p: true"}));
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

TEST(ImportMegatron, CpCommTypeNamesTheExchangeOfKeys) {
    std::string command = k175B;
    const auto imported = import(command.insert(
        command.find("--bf16"), "--context-parallel-size 2 --cp-comm-type all_gather "));
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    EXPECT_NE(imported->yaml.find("context_parallel_comm: all_gather"), std::string::npos)
        << imported->yaml;
}

TEST(ImportMegatron, MistakesNameFileLineAndFlag) {
    const std::string all = errors(
        "--num-layers abc\\\n --hidden-size $HIDDEN\\\n --decoder-num-layers 1\\\n --seq-length\\\n"
        " --micro-batch-size 1 2\n");
    EXPECT_NE(all.find("run.sh:1:14: error: --num-layers: 'abc' is not a whole number"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("run.sh:2:16: error: --hidden-size: only a shell knows '${HIDDEN}'"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("run.sh:3:2: error: --decoder-num-layers: models of an encoder"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("run.sh:4:2: error: --seq-length needs a value"), std::string::npos) << all;
    EXPECT_NE(all.find("'2' is a second"), std::string::npos) << all;
    EXPECT_NE(all.find("run.sh:1:1: error: the command line has no --global-batch-size"),
              std::string::npos)
        << all;
}

TEST(ImportMegatron, AVocabularyThatNobodySaysIsAsked) {
    EXPECT_NE(errors("--num-layers 2 --tokenizer-type Llama3Tokenizer").find("--vocab-size N"),
              std::string::npos);
    EXPECT_NE(errors("python train.py").find("no flags"), std::string::npos);
}

// As validate_args of Megatron-LM: NVIDIA's own script for Llama 3 8B switches it on with tp 1.
TEST(ImportMegatron, SequenceParallelismWithoutTensorParallelismIsSwitchedOff) {
    const std::string common =
        "pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 "
        "--micro-batch-size 1 --global-batch-size 8 --bf16 --sequence-parallel";
    const auto imported = import(common);
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    ASSERT_EQ(imported->changed.size(), 1u);
    EXPECT_EQ(imported->changed[0].find("run.sh:1:"), 0u) << imported->changed[0];
    EXPECT_EQ(imported->document.find("plan")->find("sequence_parallel"), nullptr);
    EXPECT_NE(imported->yaml.find("# switched off, as Megatron-LM does: run.sh"),
              std::string::npos);
    EXPECT_TRUE(import(common + " --tensor-model-parallel-size 2")->changed.empty());
}

TEST(ImportMegatron, SequenceParallelismHasItsOwnAsynchronousCommunication) {
    const auto blocking = [](const std::string& more) {
        const auto imported = import(
            "pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
            "--seq-length 32 --micro-batch-size 1 --global-batch-size 8 --bf16 "
            "--tensor-model-parallel-size 2 --no-async-tensor-model-parallel-allreduce " +
            more);
        const auto scenario = read_scenario_text(imported.value().yaml, "imported", ".", {});
        return std::pair{!scenario->plan.async_tensor_model_parallel_allreduce,
                         imported->changed.size()};
    };
    EXPECT_EQ(blocking(""), (std::pair{true, std::size_t{0}}));
    EXPECT_EQ(blocking("--sequence-parallel"), (std::pair{false, std::size_t{1}}));
}

// A scenario that does not go together is told at the words of the script.
TEST(ImportMegatron, ErrorsOfTheScenarioHaveThePlacesOfTheScript) {
    const auto imported = import(
        "HEADS=7\ntrain --num-layers 2 --hidden-size 64 --num-attention-heads $HEADS \\\n"
        " --seq-length 32 --micro-batch-size 1 --global-batch-size 8 --normalization layer\n");
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    const auto scenario = read_scenario_document(imported->document, "run.sh", ".");
    ASSERT_FALSE(scenario);
    std::string all;
    for (const Error& error : scenario.error()) {
        all += error.to_string() + "\n";
    }
    EXPECT_NE(all.find("run.sh:1:7: error: num_attention_heads 7"), std::string::npos) << all;
    EXPECT_NE(all.find("run.sh:3:77: error: model.normalization"), std::string::npos) << all;
}

TEST(ImportMegatron, TheNullTokenizerHasOneTokenMore) {
    const auto imported = import(
        "pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 "
        "--micro-batch-size 1 --global-batch-size 8 --vocab-size 128256 --tokenizer-type "
        "NullTokenizer");
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    EXPECT_EQ(imported->document.find("model")->find("vocab_size")->text, "128384");
}

}  // namespace
}  // namespace orrery
