// SPDX-License-Identifier: Apache-2.0
#include "runtime/trainable.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "models/plan/plan_fields.h"

namespace orrery {

// Every process has a connection to every other one.
constexpr std::int64_t kMostCpuRanks = 64;
constexpr std::int64_t kMostGpuRanks = 1024;

namespace {

class Requirements {
public:
    void operator()(bool good, std::string key, std::string what, std::string hint) {
        if (!good) {
            errors.push_back({std::move(key), std::move(what), std::move(hint)});
        }
    }
    Errors errors;
};

// A key of the plan that only simulations vary: a training has its default.
struct SimulatedKey {
    std::string_view field;
    bool (*is_default)(const ParallelPlan&);
    std::string (*default_value)();
    const char* why;
};

template <auto Member>
std::string default_word() {
    const auto value = ParallelPlan{}.*Member;
    if constexpr (std::is_enum_v<decltype(value)>) {
        return std::string{word_of(value, plan_field<Member>.values)};
    } else {
        return fmt::format("{}", value);
    }
}

template <auto Member>
constexpr SimulatedKey simulated(const char* why) {
    return {plan_field<Member>.name,
            [](const ParallelPlan& plan) { return plan.*Member == ParallelPlan{}.*Member; },
            default_word<Member>,
            why};
}

constexpr const char* kOptimizerAlone =
    "training offloads the whole optimizer's state: the rest can be simulated";
constexpr const char* kOneSum = "training adds a pass's gradient to its sum in one kernel";
constexpr const char* kNoTiles = "training has no tiles: they can be simulated";

using Plan = ParallelPlan;
constexpr SimulatedKey kSimulatedOnly[] = {
    // Kernels that training has in another form.
    simulated<&Plan::eager_norm>("a norm is one kernel in training"),
    simulated<&Plan::eager_activation>("an activation is one kernel in training"),
    simulated<&Plan::eager_rope>("the rotary embedding is one kernel in training"),
    simulated<&Plan::eager_attention>("the kernels of a training know the causal mask"),
    simulated<&Plan::loss_copies>("the loss of a training works in place"),
    simulated<&Plan::kept_logits>("training frees logits after the backward pass of the head"),
    simulated<&Plan::clear_lp_grads>(kOneSum),
    simulated<&Plan::zero_lp_grads>(kOneSum),
    simulated<&Plan::dense_embedding_gradient>("training adds rows to the embedding's gradient"),
    simulated<&Plan::activation_func_fp8_input_store>(
        "training keeps inputs of activations as they are"),
    simulated<&Plan::fused_optimizer>("the optimizer's step is one kernel in training"),
    simulated<&Plan::fused_projections>(
        "training has Q, K and V in one product, and gate and up in another"),
    simulated<&Plan::repeat_key_value_heads>(
        "the attention kernels of a training share key-value heads"),
    simulated<&Plan::attention_backward_buffers>(
        "the attention kernels of a training have no such buffers"),
    simulated<&Plan::norm_32_bit_offsets>("the norms of a training have 64-bit offsets"),
    simulated<&Plan::mlp_tile_tokens>(kNoTiles),
    simulated<&Plan::loss_tile_tokens>(kNoTiles),
    simulated<&Plan::loss_metrics>("training computes no losses for reports"),
    simulated<&Plan::cuda_launch_blocking>("training launches ops ahead of the device"),
    simulated<&Plan::vocabulary_parallel>(
        "the last stage of a training has the loss: shares of it can be simulated"),
    // Types of numbers.
    simulated<&Plan::autocast>("training has weights of 16 bits beside the optimizer's"),
    simulated<&Plan::moments_dtype>("training keeps fp32 moments"),
    simulated<&Plan::context_parallel_fp32_gradients>(
        "training exchanges the gradients of keys and values in the type of activations"),
    // Gradients and weights lie where they are computed and used, in equal parts.
    simulated<&Plan::reduce_scatter>("training reduces gradients to the ranks that step them"),
    simulated<&Plan::zero_whole_parameters>("training steps equal parts of all parameters"),
    simulated<&Plan::zero_copies_parts>("training steps parts in the gathered buffer"),
    simulated<&Plan::gradient_bucket_copies>("training reduces gradients where they are"),
    simulated<&Plan::reduce_bucket_size>("training reduces gradients where they are"),
    simulated<&Plan::deallocate_pipeline_outputs>(
        "training frees a stage's output when it is sent"),
    simulated<&Plan::partition_pipeline_outputs>("training frees a stage's output when it is sent"),
    simulated<&Plan::fsdp_copy_out>("training gathers weights where they are used"),
    simulated<&Plan::pipeline_engine_groups>("the ranks of a training share their connections"),
    // Other memory than the device's.
    simulated<&Plan::param_offload_tier>(kOptimizerAlone),
    simulated<&Plan::grad_offload_tier>(kOptimizerAlone),
    simulated<&Plan::delayed_param_update>(kOptimizerAlone),
    simulated<&Plan::optimizer_offload_fraction>(kOptimizerAlone),
    simulated<&Plan::offload_fp32_weights>(
        "the host rounds the weights that it hands over: fp32 can be simulated"),
    simulated<&Plan::activation_offload_fraction>(
        "training keeps the inputs of layers on the device: copies can be simulated"),
    simulated<&Plan::distribute_saved_activations>(
        "training keeps the inputs of layers whole: parts can be simulated"),
    simulated<&Plan::reentrant_checkpoint>("training frees tensors after their last use"),
    simulated<&Plan::cpu_offloading_num_layers>(
        "training keeps activations on the device: copies can be simulated"),
};

constexpr SimulatedKey kSimulatedOfExperts[] = {
    simulated<&Plan::moe_dispatch_dtype>("training sends tokens as they are"),
    simulated<&Plan::moe_permute_fusion>("one kernel permutes the rows of a training"),
    simulated<&Plan::moe_lsh_compression_rate>(
        "training sends every row: a part of them can be simulated"),
    simulated<&Plan::moe_pipeline_degree>(
        "training sends all rows at once: parts can be simulated"),
    simulated<&Plan::moe_tile_overlap>(
        "training sends rows between its products: tiles can be simulated"),
    simulated<&Plan::overlap_moe_expert_parallel_comm>(
        "training runs one pass of a rank at a time"),
};

void require_defaults(std::span<const SimulatedKey> keys,
                      const ParallelPlan& plan,
                      Requirements& require) {
    for (const SimulatedKey& key : keys) {
        require(
            key.is_default(plan), fmt::format("plan.{}", key.field), key.why, key.default_value());
    }
}

void require_model(const Transformer& model, Requirements& require) {
    require(model.mtp_num_layers == 0,
            "model.mtp_num_layers",
            "training predicts one token: modules for more can be simulated",
            "0");
    require(!model.multi_latent_attention && !model.qk_layernorm,
            model.qk_layernorm ? "model.qk_layernorm" : "model.multi_latent_attention",
            "training has plain attention only: the model can be simulated",
            "false");
    require(!model.embed_layernorm,
            "model.embed_layernorm",
            "training has no norm behind the embedding: the model can be simulated",
            "false");
    require(!model.sandwich_norm,
            "model.sandwich_norm",
            "training has no norms behind attention and MLP: the model can be simulated",
            "false");
    require(model.activation_func_clamp_value == 0,
            "model.activation_func_clamp_value",
            "training clamps no activation: the model can be simulated",
            "0");
    require(model.linear_attention_every == 0,
            "model.linear_attention_every",
            "training has softmax attention only: the model can be simulated",
            "0");
    require(model.position_embedding != PositionEmbedding::rope || model.kv_channels % 2 == 0,
            "model.kv_channels",
            "rotary embedding needs an even head size",
            "an even number");
}

void require_experts(const Transformer& model, const ParallelPlan& plan, Requirements& require) {
    if (model.num_experts == 0) {
        return;
    }
    require(!model.add_bias_linear,
            "model.add_bias_linear",
            "experts are trained without biases: they can be simulated",
            "false");
    require(plan.moe_router_load != RouterLoad::consecutive,
            "plan.moe_router_load",
            "training chooses the experts of the best scores: consecutive ones can be simulated",
            "balanced");
    require(plan.sends_row_for_each_expert(),
            "plan.moe_token_dispatcher_type",
            "training sends a row for each expert of a token: others can be simulated",
            "alltoall, hierarchical or 2dh");
    require_defaults(kSimulatedOfExperts, plan, require);
}

void require_long_context(const Transformer& model,
                          const ParallelPlan& plan,
                          Requirements& require) {
    require(plan.loss_in_place || plan.fused_cross_entropy,
            "plan.loss_in_place",
            "the loss of a training works in place",
            "true");
    require(plan.context_parallel_size == 1 ||
                plan.context_parallel_comm != ContextParallelComm::all_gather,
            "plan.context_parallel_comm",
            "training passes keys and values on in a ring: an all-gather can be simulated",
            "ring");
    require(
        plan.context_parallel_comm != ContextParallelComm::all_to_all ||
            model.key_heads() % (plan.tensor_model_parallel_size * plan.context_parallel_size) ==
                0 ||
            plan.context_parallel_size == 1,
        "plan.context_parallel_size",
        "training exchanges whole key-value heads, of which ranks share none",
        "a divisor of num_query_groups, or context_parallel_comm: ring");
}

}  // namespace

Errors check_trainable(const Transformer& model, const ParallelPlan& plan, std::int64_t num_ranks) {
    Requirements require;
    require_model(model, require);
    require_experts(model, plan, require);
    require_long_context(model, plan, require);
    require_defaults(kSimulatedOnly, plan, require);
    require(!plan.zero_quantized_gradients || !plan.zero_quantized_gradients_uneven,
            "plan.zero_quantized_gradients_uneven",
            "training quantises gradients in equal parts",
            "false");
    require(
        num_ranks <= kMostGpuRanks,
        "cluster.nodes",
        fmt::format(
            "training runs on up to {} devices, and this cluster has {}", kMostGpuRanks, num_ranks),
        "a smaller cluster");
    require(model.kv_size() % plan.tensor_model_parallel_size == 0,
            "plan.tensor_model_parallel_size",
            fmt::format("ranks that share a key-value head of {} columns make equal parts of it",
                        model.kv_channels),
            "a divisor of num_query_groups x kv_channels");
    const std::int64_t positions =
        plan.tensor_model_parallel_size * plan.context_parallel_size * plan.tp_comm_overlap_chunks;
    require(!plan.tp_comm_overlap || plan.tensor_model_parallel_size == 1 ||
                model.seq_length % positions == 0,
            "plan.tp_comm_overlap_chunks",
            fmt::format("training cuts a rank's part of the sequence of {} into {} equal chunks",
                        model.seq_length,
                        plan.tp_comm_overlap_chunks),
            "a divisor of seq_length / (tensor x context parallel size)");
    require(plan.precision == Dtype::fp32 || plan.precision == Dtype::bf16,
            "plan.precision",
            "training is in fp32 or bf16",
            "fp32 or bf16");
    require(plan.gradient_dtype != Dtype::fp16,
            "plan.gradient_dtype",
            "training has no fp16 gradients",
            "fp32");
    require(plan.wire_of_gradients() == plan.gradient_dtype,
            "plan.grad_reduce_dtype",
            "training reduces gradients in the type in which it accumulates them",
            "that of plan.gradient_dtype");
    require(plan.optimizer == Optimizer::adam || plan.gradient_dtype == Dtype::fp32,
            "plan.gradient_dtype",
            "LAMB writes its update in the place of the gradients, which must be fp32 for that",
            "fp32");
    require(!plan.optimizer_cpu_offload ||
                (plan.precision == Dtype::bf16 && plan.main_params_dtype == Dtype::fp32),
            "plan.optimizer_cpu_offload",
            "the optimizer in host memory steps fp32 copies of bf16 weights",
            "false, or precision bf16 with main_params_dtype fp32");
    require(!plan.recomputes(modules_with(LayerPart::key | LayerPart::up)),
            "plan.recompute_modules",
            "training has Q, K and V in one product, and gate and up in another",
            "every_second_product");
    return std::move(require.errors);
}

Result<void> check_gpu_job(const Transformer& model, const ParallelPlan& plan) {
    if (model.num_experts > 0) {
        return fail("model.num_experts",
                    "training on GPUs has no experts yet: it has on CPUs",
                    "--device cpu, or 0");
    }
    if (plan.zero_quantized_weights || plan.zero_quantized_gradients) {
        return fail(plan.zero_quantized_weights ? "plan.zero_quantized_weights"
                                                : "plan.zero_quantized_gradients",
                    "training on GPUs moves weights and gradients as they are: processes on CPUs "
                    "quantise them",
                    "--device cpu, or false");
    }
    return plan.optimizer_cpu_offload
               ? fail("plan.optimizer_cpu_offload",
                      "training on GPUs keeps the optimizer's state on them: processes on CPUs "
                      "copy it",
                      "--device cpu, or false")
               : Result<void>{};
}

Result<void> check_cpu_ranks(std::int64_t num_ranks) {
    return num_ranks <= kMostCpuRanks
               ? Result<void>{}
               : fail("cluster.nodes",
                      fmt::format(
                          "training on CPUs runs in up to {} processes, and this cluster has {} "
                          "devices",
                          kMostCpuRanks,
                          num_ranks),
                      "GPUs, or a smaller cluster");
}

}  // namespace orrery
