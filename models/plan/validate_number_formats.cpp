// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_number_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

namespace orrery {

Errors check_number_formats(const ParallelPlan& plan) {
    Errors errors;
    const auto reject = [&](const char* key, std::string what, std::string hint) {
        errors.push_back({key, std::move(what), std::move(hint)});
    };
    const auto one_of = [](Dtype dtype, std::initializer_list<Dtype> valid) {
        return std::find(valid.begin(), valid.end(), dtype) != valid.end();
    };
    if (!one_of(plan.precision, {Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::fp8})) {
        reject("plan.precision",
               fmt::format("{} can't train", name(plan.precision)),
               "fp32, fp16, bf16 or fp8");
    }
    if (!one_of(plan.gradient_dtype, {Dtype::fp32, Dtype::fp16, Dtype::bf16})) {
        reject("plan.gradient_dtype",
               fmt::format("{} can't hold gradients", name(plan.gradient_dtype)),
               "fp32, fp16 or bf16");
    }
    if (!one_of(plan.main_params_dtype, {Dtype::fp32, Dtype::bf16})) {
        reject("plan.main_params_dtype",
               fmt::format("{} can't be what the optimizer steps", name(plan.main_params_dtype)),
               "fp32 or bf16");
    }
    if (plan.moments_dtype != Dtype::fp32 && plan.optimizer != Optimizer::adam) {
        reject("plan.moments_dtype", "LAMB's moments are fp32", "fp32, or plan.optimizer: adam");
    }
    const bool bf16_weights = one_of(plan.precision, {Dtype::bf16, Dtype::fp8});
    if (!bf16_weights && plan.main_params_dtype == Dtype::bf16) {
        reject("plan.main_params_dtype",
               fmt::format("with precision {} there are no bf16 weights", name(plan.precision)),
               "fp32, or plan.precision: bf16");
    }
    if (!bf16_weights && plan.bf16_stochastic_round) {
        reject("plan.bf16_stochastic_round",
               fmt::format("with precision {} there are no bf16 weights", name(plan.precision)),
               "false, or plan.precision: bf16");
    }
    // Gradients that passes reduce unit by unit have the type that the passes make.
    const bool zero2 = plan.data_parallel_sharding_strategy == ShardingStrategy::optim_grads;
    const bool in_passes = plan.shards_weights() || (zero2 && plan.reduce_every_micro_batch);
    const std::string_view who =
        zero2 ? "passes reduce gradients (reduce_every_micro_batch)" : "ZeRO 3 reduces gradients";
    if (plan.wire_of_gradients() != plan.gradient_dtype && in_passes) {
        reject("plan.grad_reduce_dtype",
               fmt::format("{} as the passes make them", who),
               "that of plan.gradient_dtype");
    }
    if (!plan.clear_lp_grads) {
        const auto refuse = [&](const char* what) { reject("plan.clear_lp_grads", what, "true"); };
        if (plan.gradient_accumulation_fusion) {
            refuse("with plan.gradient_accumulation_fusion a pass makes no gradient of its own");
        }
        if (plan.autocast || plan.precision == Dtype::fp32 || plan.gradient_dtype != Dtype::fp32) {
            refuse("only 16-bit gradients have fp32 sums beside them");
        }
    }
    if (plan.zero_copies_parts && plan.zero_whole_parameters) {
        reject("plan.zero_copies_parts", "owners broadcast whole parameters here", "false");
    }
    return errors;
}

// Megatron-Core passes the option to its fused SwiGLU alone (fusions/fused_bias_swiglu.py).
Errors check_fp8_inputs(const Transformer& model, const ParallelPlan& plan) {
    if (!plan.activation_func_fp8_input_store) {
        return {};
    }
    Errors errors;
    const auto refuse = [&](bool given, const char* what) {
        if (given) {
            errors.push_back({"plan.activation_func_fp8_input_store", what, "false"});
        }
    };
    refuse(!model.gated_mlp(), "the activation has no gate");
    refuse(plan.precision == Dtype::fp32, "with precision fp32 activations keep 32 bits");
    refuse(!plan.fused_activation && !plan.compiled,
           "kernels of parts of an activation keep what autograd keeps");
    refuse(plan.moe_fused_activation, "the activation is part of its products");
    refuse(plan.mlp_tile_tokens > 0, "tiles run again and keep nothing");
    refuse(plan.recompute_granularity == Recompute::full ||
               plan.recomputes(modules_with(LayerPart::fc1 | LayerPart::up | LayerPart::experts)),
           "the product before the activation runs again and keeps nothing");
    return errors;
}

}  // namespace orrery
