// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/megatron_flags.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "models/plan/plan_fields.h"
#include "models/transformer/transformer_fields.h"

namespace orrery {
namespace {

FlagKind kind_of(bool /*value*/, std::string_view flag) {
    const bool off = flag.starts_with("--no-") || flag.starts_with("--disable-");
    return off ? FlagKind::turn_off : FlagKind::turn_on;
}
FlagKind kind_of(std::int64_t /*value*/, std::string_view /*flag*/) {
    return FlagKind::whole_number;
}
FlagKind kind_of(double /*value*/, std::string_view /*flag*/) {
    return FlagKind::real;
}
template <class Word>
FlagKind kind_of(const Word& /*value*/, std::string_view /*flag*/) {
    return FlagKind::word;
}

template <class Field, class T>
void add_flags(const Field& field, const char* section, const T& value, auto& flags) {
    for (const std::string_view flag : field.flags) {
        if (!flag.empty()) {
            flags.push_back({flag, section + std::string{field.name}, kind_of(value, flag)});
        }
    }
}

std::vector<MegatronFlag> copied_flags() {
    using enum FlagKind;
    std::vector<MegatronFlag> flags{
        {"--seed", "job.seed"},
        {"--lr", "job.learning_rate", real},
        {"--min-lr", "job.min_learning_rate", real},
        {"--lr-warmup-iters", "job.warmup_steps"},
        {"--weight-decay", "job.weight_decay", real},
        {"--clip-grad", "job.clip_grad", real},
        {"--adam-beta1", "job.adam_beta1", real},
        {"--adam-beta2", "job.adam_beta2", real},
        {"--adam-eps", "job.adam_epsilon", real},
        {"--log-interval", "job.log_interval"},
        {"--eval-interval", "job.eval_interval"},
        {"--eval-iters", "job.eval_steps"},
    };
    const Transformer model;
    const ParallelPlan plan;
    for_each_model_field(
        [&](const auto& field) { add_flags(field, "model.", model.*field.member, flags); });
    for_each_plan_field(
        [&](const auto& field) { add_flags(field, "plan.", plan.*field.member, flags); });
    return flags;
}

constexpr std::array<std::string_view, 22> kNoEffectBeginnings{
    "--lr",         "--min-lr",     "--weight-decay", "--adam-",          "--train-",
    "--data-",      "--tokenizer-", "--save",         "--load",           "--log-",
    "--eval-",      "--exit-",      "--init-method",  "--distributed-",   "--tensorboard-",
    "--wandb-",     "--rdzv",       "--use-rot",      "--use-checkpoint", "--dist-ckpt",
    "--start-weig", "--end-weight",
};
constexpr std::array<std::string_view, 47> kNoEffect{
    "--moe-grouped-gemm",  // always the case
    "--moe-router-load-balancing-type",
    "--moe-z-loss-coeff",
    "--moe-router-enable-expert-bias",
    "--moe-router-topk-scaling-factor",
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

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kRefused{{
    {"--moe-enable-deepep", "give --moe-flex-dispatcher-backend deepep instead"},
    {"--encoder-num-layers", "encoders can't be said yet"},
    {"--decoder-num-layers", "models of an encoder and a decoder can't be said yet"},
    {"--pipeline-model-parallel-layout", "give plan.pipeline_layout in the scenario instead"},
    {"--cpu-offloading-num-layers", "offloading can't be said yet"},
    {"--optimizer-cpu-offload", "offloading can't be said yet"},
    {"--hierarchical-context-parallel-sizes", "hierarchical context parallelism can't be said yet"},
}};

}  // namespace

const MegatronFlag* copied_flag(std::string_view name) {
    static const std::vector<MegatronFlag> flags = copied_flags();
    const auto found = std::ranges::find(flags, name, &MegatronFlag::name);
    return found == flags.end() ? nullptr : &*found;
}

bool is_translated_flag(std::string_view name) {
    bool found = false;
    const auto look = [&](const auto& field) {
        found |= std::ranges::find(field.translated_flags, name) != field.translated_flags.end();
    };
    for_each_model_field(look);
    for_each_plan_field(look);
    return found && !name.empty();
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
