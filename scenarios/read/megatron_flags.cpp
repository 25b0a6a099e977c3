// SPDX-License-Identifier: Apache-2.0
#include "scenarios/read/megatron_flags.h"

#include <algorithm>
#include <array>
#include <utility>

namespace orrery {
namespace {

constexpr auto kCopied = [] {
    using enum FlagKind;
    return std::array{
        MegatronFlag{"--num-layers", "model.num_layers"},
        MegatronFlag{"--hidden-size", "model.hidden_size"},
        MegatronFlag{"--ffn-hidden-size", "model.ffn_hidden_size"},
        MegatronFlag{"--num-attention-heads", "model.num_attention_heads"},
        MegatronFlag{"--num-query-groups", "model.num_query_groups"},
        MegatronFlag{"--kv-channels", "model.kv_channels"},
        MegatronFlag{"--seq-length", "model.seq_length"},
        MegatronFlag{"--normalization", "model.normalization", word},
        MegatronFlag{"--position-embedding-type", "model.position_embedding_type", word},
        MegatronFlag{"--disable-bias-linear", "model.add_bias_linear", turn_off},
        MegatronFlag{"--untie-embeddings-and-output-weights",
                     "model.untie_embeddings_and_output_weights",
                     turn_on},
        MegatronFlag{"--hidden-dropout", "model.dropout", real},
        MegatronFlag{"--tensor-model-parallel-size", "plan.tensor_model_parallel_size"},
        MegatronFlag{"--pipeline-model-parallel-size", "plan.pipeline_model_parallel_size"},
        MegatronFlag{"--context-parallel-size", "plan.context_parallel_size"},
        MegatronFlag{"--sequence-parallel", "plan.sequence_parallel", turn_on},
        MegatronFlag{"--micro-batch-size", "plan.micro_batch_size"},
        MegatronFlag{"--global-batch-size", "plan.global_batch_size"},
        MegatronFlag{"--recompute-granularity", "plan.recompute_granularity", word},
        MegatronFlag{"--recompute-method", "plan.recompute_method", word},
        MegatronFlag{"--recompute-num-layers", "plan.recompute_num_layers"},
        MegatronFlag{
            "--data-parallel-sharding-strategy", "plan.data_parallel_sharding_strategy", word},
        MegatronFlag{"--overlap-grad-reduce", "plan.overlap_grad_reduce", turn_on},
        MegatronFlag{"--overlap-param-gather", "plan.overlap_param_gather", turn_on},
        MegatronFlag{"--overlap-param-gather-with-optimizer-step",
                     "plan.overlap_param_gather_with_optimizer_step",
                     turn_on},
        MegatronFlag{"--tp-comm-overlap", "plan.tp_comm_overlap", turn_on},
        MegatronFlag{"--ddp-bucket-size", "plan.ddp_bucket_size"},
        MegatronFlag{"--optimizer", "plan.optimizer", word},
        MegatronFlag{
            "--no-gradient-accumulation-fusion", "plan.gradient_accumulation_fusion", turn_off},
        MegatronFlag{"--no-async-tensor-model-parallel-allreduce",
                     "plan.async_tensor_model_parallel_allreduce",
                     turn_off},
        MegatronFlag{"--no-scatter-gather-tensors-in-pipeline",
                     "plan.scatter_gather_tensors_in_pipeline",
                     turn_off},
        MegatronFlag{"--no-persist-layer-norm", "plan.fused_norm", turn_off},
        MegatronFlag{"--no-bias-gelu-fusion", "plan.fused_activation", turn_off},
        MegatronFlag{"--no-bias-swiglu-fusion", "plan.fused_activation", turn_off},
        MegatronFlag{"--cross-entropy-loss-fusion", "plan.fused_cross_entropy", turn_on},
        MegatronFlag{"--enable-cuda-graph", "plan.cuda_graphs", turn_on},
        MegatronFlag{"--external-cuda-graph", "plan.cuda_graphs", turn_on},
        MegatronFlag{"--seed", "job.seed"},
        MegatronFlag{"--lr", "job.learning_rate", real},
        MegatronFlag{"--min-lr", "job.min_learning_rate", real},
        MegatronFlag{"--lr-warmup-iters", "job.warmup_steps"},
        MegatronFlag{"--weight-decay", "job.weight_decay", real},
        MegatronFlag{"--clip-grad", "job.clip_grad", real},
        MegatronFlag{"--adam-beta1", "job.adam_beta1", real},
        MegatronFlag{"--adam-beta2", "job.adam_beta2", real},
        MegatronFlag{"--adam-eps", "job.adam_epsilon", real},
        MegatronFlag{"--log-interval", "job.log_interval"},
        MegatronFlag{"--eval-interval", "job.eval_interval"},
        MegatronFlag{"--eval-iters", "job.eval_steps"},
    };
}();

constexpr std::array<std::string_view, 22> kNoEffectBeginnings{
    "--lr",         "--min-lr",     "--weight-decay", "--adam-",          "--train-",
    "--data-",      "--tokenizer-", "--save",         "--load",           "--log-",
    "--eval-",      "--exit-",      "--init-method",  "--distributed-",   "--tensorboard-",
    "--wandb-",     "--rdzv",       "--use-rot",      "--use-checkpoint", "--dist-ckpt",
    "--start-weig", "--end-weight",
};
constexpr std::array<std::string_view, 42> kNoEffect{
    "--split",
    "--vocab-file",
    "--merge-file",
    "--num-workers",
    "--use-mcore-models",
    "--transformer-impl",
    "--attention-dropout",
    "--master-addr",
    "--master-port",
    "--node-rank",
    "--max-position-embeddings",
    "--make-vocab-size-divisible-by",
    "--finetune",
    "--no-load-optim",
    "--no-load-rng",
    "--no-save-optim",
    "--no-save-rng",
    "--override-opt-param-scheduler",
    "--group-query-attention",
    "--rotary-base",
    "--rotary-percent",
    "--norm-epsilon",
    "--max-restarts",
    "--layernorm-epsilon",
    "--local-rank",
    "--mock-data",
    "--timing-log-level",
    "--initial-loss-scale",
    "--loss-scale",
    "--loss-scale-window",
    "--hysteresis",
    "--manual-gc",
    "--manual-gc-interval",
    "--no-mmap-bin-files",
    "--apply-layernorm-1p",
    "--attention-softmax-in-fp32",
    "--rotary-seq-len-interpolation-factor",
    "--use-rope-scaling",
    "--check-for-nan-in-loss-and-grad",
    "--no-check-for-nan-in-loss-and-grad",
    "--ckpt-format",
    "--no-create-attention-mask-in-dataloader",
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kRefused{{
    {"--num-experts", "mixture-of-experts models can't be said yet"},
    {"--expert-tensor-parallel-size", "mixture-of-experts models can't be said yet"},
    {"--moe-router-topk", "mixture-of-experts models can't be said yet"},
    {"--moe-grouped-gemm", "mixture-of-experts models can't be said yet"},
    {"--multi-latent-attention", "latent attention can't be said yet"},
    {"--encoder-num-layers", "encoders can't be said yet"},
    {"--decoder-num-layers", "models of an encoder and a decoder can't be said yet"},
    {"--pipeline-model-parallel-layout", "give plan.pipeline_layout in the scenario instead"},
    {"--cpu-offloading-num-layers", "offloading can't be said yet"},
    {"--optimizer-cpu-offload", "offloading can't be said yet"},
    {"--mtp-num-layers", "multi-token prediction can't be said yet"},
    {"--hierarchical-context-parallel-sizes", "hierarchical context parallelism can't be said yet"},
}};

}  // namespace

const MegatronFlag* copied_flag(std::string_view name) {
    const auto* found = std::ranges::find(kCopied, name, &MegatronFlag::name);
    return found == kCopied.end() ? nullptr : found;
}

bool has_no_effect(std::string_view name) {
    return std::ranges::find(kNoEffect, name) != kNoEffect.end() ||
           std::ranges::any_of(kNoEffectBeginnings, [&](std::string_view beginning) {
               return name.starts_with(beginning);
           });
}

std::string_view refused_flag(std::string_view name) {
    for (const auto& [flag, why] : kRefused) {
        if (flag == name) {
            return why;
        }
    }
    return {};
}

}  // namespace orrery
