// SPDX-License-Identifier: Apache-2.0
// Plan of a published row: defaults of the software (the catalogue's stacks, with their sources),
// then the row's columns, then its features (README of the table).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "models/plan/plan_fields.h"
#include "models/plan/plan_words.h"
#include "scenarios/format/read/read_stack.h"
#include "scenarios/studies/validate/likely_stack.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/recipe.h"
#include "scenarios/studies/validate/stage_layout.h"

namespace orrery {
namespace {

// Features that another column or function expresses, or that do not change the cost of a step.
constexpr std::string_view kWordsWithoutEffect[] = {
    "async_data_pipeline",              // data loading is not part of the simulated step
    "no_perturbation",                  // it removes perturbations that are not modelled
    "sequence_parallel_fused_overlap",  // expressed by tp_comm_overlap
    "scatter_gather",  // pipeline sends are always split over the tensor-parallel ranks
    "fsdp_prefetch",   // expressed by overlap_param_gather
    "deferred_embedding_wgrad",
    "fp8_hybrid",             // the gradients' format has the speed of the activations'
    "async_tp",               // expressed by tp_comm_overlap
    "transformer_engine",     // expressed by attention_kernel
    "triton_quant_kernels",   // a cast is one kernel
    "packed_samples",         // the sequences are full
    "document_mask",          // sources do not state how long the documents are
    "optimizer_in_backward",  // moves the same work in time
    "fused_rope",             // RoPE is one kernel
    "cp_overlap_gemm",        // the exchange of context-parallel ranks always runs beside attention
    "fp32_grad_accumulation",
    "uneven_pipeline_stages",  // expressed by pipeline_layers, else by the remainder
    "force_balanced_routing",  // expressed by router_balance
    "natural_routing",         // read by set_load()
    "token_drop",              // the capacity is the mean load: balanced
    "zero3",                   // expressed by data_parallel_sharding_strategy
    "delay_wgrad",             // read by with_overlap()
};
// Features that case_scenario.cpp and set_features() read.
constexpr std::string_view kWordsOfOptions[] = {
    "parallel_block",
    "lamb",
    "fused_norm_gelu",
    "fused_gelu",
    "fused_rmsnorm",
    "untied_embeddings",
    "tied_embeddings",
    "embed_layernorm",
    "cuda_launch_blocking",
    "embedding_and_loss_as_layers",
    "cuda_graphs",
    "no_gradient_accumulation_fusion",
    "squared_relu",
    "geglu",
    "torch_compile",
    "thunder_compile",
    "xla",
    "fp8_params",
    "fp8_current_scaling",
    "float8_dynamic_tensorwise",
    "float8_dynamic_rowwise",
    "float8_all_gather",
    "mxfp8",
    "fp8_delayed_scaling",
    "sac_fp8_linears_recomputed",
    "chunked_cross_entropy",
    "pure_bf16",
    "bf16_grads",
    "bf16_moments",
    "shared_expert_overlap",
    "no_permute_fusion",
};
constexpr std::string_view kKeysOfOptions[] = {
    "sliding_window",
    "swa_every",
    "flash_attn",
    "dropout",
    "hsdp_shard",
    "zero1_shard",
    "cpu_offloading_num_layers",
    "pipeline_flushes",
    "pipeline_layers",
    "vocabulary_parallel",
    "method",       // expressed by the sizes
    "cuda_graphs",  // names the captured parts of a layer
    "dispatcher_sms",
};

template <std::size_t N>
bool in_list(std::string_view word, const std::string_view (&words)[N]) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// The first feature that is not expressible; empty if all are.
std::string unknown_feature(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        const std::string key = word.substr(0, word.find('='));
        const bool known =
            key == word ? in_list(word, kWordsWithoutEffect) || in_list(word, kWordsOfOptions)
                        : in_list(key, kKeysOfOptions);
        if (!known) {
            return word;
        }
    }
    return {};
}

// Sets the defaults of the row's software where the row states nothing.
Result<void> set_stack(const PublishedCase& row,
                       const Catalogue& catalogue,
                       const DeviceSpec& device,
                       ParallelPlan& plan) {
    const std::string entry = stack_entry(row.stack, catalogue);
    // The catalogue's DeepSpeed trains Megatron-LM v2's model, which has no gated MLP. Gated models
    // come from other libraries.
    const bool other_model = entry == "deepspeed" && row.model.gated_mlp();
    const std::string guess = entry.empty() || other_model ? likely_stack(row) : entry;
    if (stack_entry(guess, catalogue).empty()) {
        return {};
    }
    Errors errors;
    DocumentNode stack = scalar_node(guess);
    const DocumentNode defaults =
        stack_defaults(stack, catalogue, device.generation, name(row.plan.precision), errors);
    DocumentNode open;
    open.kind = DocumentNode::Kind::map;
    for (std::size_t i = 0; i < defaults.keys.size(); ++i) {
        if (!states(row, defaults.keys[i].text)) {
            open.set(defaults.keys[i], defaults.items[i]);
        }
    }
    if (errors.empty()) {
        read_given(open, plan, errors);
    }
    return errors.empty() ? Result<void>{} : Result<void>{unexpected<Error>(errors.front())};
}

Result<void> set_attention(const PublishedCase& row,
                           const std::vector<std::string>& words,
                           const DeviceSpec& device,
                           ParallelPlan& plan) {
    struct Kernel {
        std::string_view word;
        AttentionKernel kernel;
    };
    // Transformer Engine uses cuDNN's kernel from Hopper on and FlashAttention before.
    const bool hopper = device.compute_capability >= 90;
    const Kernel kernels[] = {
        {"flash_attn_1", AttentionKernel::flash_1},
        {"flash_attn_2", AttentionKernel::flash_2},
        {"sdpa_flash", AttentionKernel::flash_2},
        {"te_fused", hopper ? AttentionKernel::cudnn : AttentionKernel::flash_2},
        {"cudnn", AttentionKernel::cudnn},
        {"xla", AttentionKernel::unfused},
        {"megatron_fused_softmax", AttentionKernel::unfused},
        {"torch_unfused", AttentionKernel::unfused},
    };
    const auto* const named = std::ranges::find(kernels, row.attention_kernel, &Kernel::word);
    if (named != std::end(kernels)) {
        plan.attention_kernel = named->kernel;
        return {};
    }
    if (!row.attention_kernel.empty()) {
        return fail({}, fmt::format("attention kernel '{}' is not known", row.attention_kernel));
    }
    const std::string version = value_of_word(words, "flash_attn");
    if (!row.flash_attention) {
        plan.attention_kernel = AttentionKernel::unfused;
    } else if (!version.empty()) {
        plan.attention_kernel =
            version == "1" ? AttentionKernel::flash_1 : AttentionKernel::flash_2;
    } else if (plan.attention_kernel == AttentionKernel::unfused) {
        plan.attention_kernel = AttentionKernel::flash_2;
    }
    // If a row assumes flash attention on a device without it, attention was unfused.
    const std::vector<std::string>& has = device.attention_kernels;
    const bool missing = !has.empty() && std::ranges::count(has, name(plan.attention_kernel)) == 0;
    const bool assumed = std::ranges::count(row.assumed, "flash_attention") > 0;
    if (missing && assumed) {
        plan.attention_kernel = AttentionKernel::unfused;
    }
    return {};
}

std::uint32_t module_bits(std::initializer_list<RecomputeModule> modules) {
    std::uint32_t bits = 0;
    for (const RecomputeModule module : modules) {
        bits |= static_cast<std::uint32_t>(module);
    }
    return bits;
}

Result<void> set_recomputation(const PublishedCase& row,
                               const std::vector<std::string>& words,
                               ParallelPlan& plan) {
    using Module = RecomputeModule;
    const std::string& detail = row.recompute_detail;
    const auto selective = [&](std::initializer_list<Module> modules) {
        plan.recompute_granularity = Recompute::selective;
        plan.recompute_modules = module_bits(modules);
    };
    if (detail.empty() || detail == "none" || detail == "full" || detail == "core_attention") {
        return {};
    }
    if (detail == "every_second_layer") {
        plan.recompute_granularity = Recompute::full;
        plan.recompute_method = RecomputeMethod::every;
        plan.recompute_num_layers = 2;
    } else if (detail == "op_every_second_matmul") {
        const bool none_kept = says(words, "sac_fp8_linears_recomputed");
        selective({none_kept ? Module::linear : Module::every_second_projection});
    } else if (detail == "remat=save_dot_with_no_batch_dims") {
        // Attention's products have batch dimensions. Results of elementwise operators are not
        // kept.
        selective({Module::core_attn, Module::layernorm, Module::activation});
    } else if (detail == "norm") {
        selective({Module::layernorm});
    } else if (detail == "remat=minimal_flash" || detail == "mlp_activation_and_norm") {
        selective({Module::layernorm, Module::activation});
    } else {
        return fail({}, fmt::format("recomputation '{}' is not expressible", detail));
    }
    return {};
}

void set_fp8(const std::vector<std::string>& words, ParallelPlan& plan) {
    if (plan.precision != Dtype::fp8) {
        return;
    }
    const bool current = says(words, "fp8_current_scaling");
    if (current || says(words, "float8_dynamic_tensorwise")) {
        plan.fp8_recipe = Fp8Recipe::tensorwise;
    } else if (says(words, "float8_dynamic_rowwise")) {
        plan.fp8_recipe = Fp8Recipe::rowwise;
    } else if (says(words, "mxfp8")) {
        plan.fp8_recipe = Fp8Recipe::mxfp8;
    } else if (says(words, "fp8_hybrid") || says(words, "fp8_delayed_scaling")) {
        plan.fp8_recipe = Fp8Recipe::delayed;
    }
    plan.fp8_param_gather = says(words, "float8_all_gather") || says(words, "fp8_params");
}

void set_features(const PublishedCase& row,
                  const std::vector<std::string>& words,
                  ParallelPlan& plan) {
    const bool lamb = says(words, "lamb") || row.optimizer == "lamb";
    plan.optimizer = lamb ? Optimizer::lamb : plan.optimizer;
    plan.fused_optimizer = (plan.fused_optimizer && row.optimizer != "adamw_foreach") || lamb;
    if (says(words, "no_gradient_accumulation_fusion")) {
        plan.gradient_accumulation_fusion = false;
    }
    const bool both = says(words, "fused_norm_gelu");
    plan.fused_norm = plan.fused_norm || both || says(words, "fused_rmsnorm");
    plan.fused_activation = plan.fused_activation || both || says(words, "fused_gelu");
    // eager_norm of a stack means the operators of an RMSNorm: PyTorch's LayerNorm is one kernel.
    plan.eager_norm = plan.eager_norm && !plan.fused_norm && row.model.gated_mlp();
    plan.fused_cross_entropy = plan.fused_cross_entropy || says(words, "chunked_cross_entropy");
    plan.cuda_graphs = plan.cuda_graphs || says(words, "cuda_graphs");
    const std::vector<std::string> captured =
        words_between(value_of_word(words, "cuda_graphs"), '+');
    for (const auto& [word, bit] : kCudaGraphParts) {
        plan.cuda_graph_scope |= says(captured, word) ? bit : 0;
    }
    plan.compiled = plan.compiled || row.compile == "true" || says(words, "torch_compile") ||
                    says(words, "thunder_compile");
    plan.cuda_launch_blocking = plan.cuda_launch_blocking || says(words, "cuda_launch_blocking");
    plan.embedding_and_loss_as_layers = says(words, "embedding_and_loss_as_layers");
    for (const char* key : {"hsdp_shard", "zero1_shard"}) {
        const std::int64_t ranks = digits_of(value_of_word(words, key));
        plan.hsdp_shard_size = ranks > 0 ? ranks : plan.hsdp_shard_size;
    }
    plan.cpu_offloading_num_layers = digits_of(value_of_word(words, "cpu_offloading_num_layers"));
    plan.pipeline_flushes =
        std::max<std::int64_t>(digits_of(value_of_word(words, "pipeline_flushes")), 1);
    if (says(words, "pure_bf16")) {
        plan.gradient_dtype = Dtype::bf16;
        plan.main_params_dtype = Dtype::bf16;
        plan.moments_dtype = Dtype::bf16;  // torch/optim/adamw.py: zeros_like(parameter)
    }
    // The paper's variants differ in the number of barriers around the loss, which the plan does
    // not distinguish. Their runtime posts every message ahead.
    plan.vocabulary_parallel = !value_of_word(words, "vocabulary_parallel").empty();
    plan.overlap_p2p = plan.overlap_p2p || plan.vocabulary_parallel;
    set_fp8(words, plan);
    set_pipeline_layout(row, words, plan);
}

// Sets the recomputed modules of a row with experts. A module that the model lacks has no effect.
void set_modules(const PublishedCase& row, ParallelPlan& plan) {
    const std::vector<std::string> modules = words_between(row.recompute_modules, ';');
    if (plan.recompute_granularity != Recompute::selective || modules.empty()) {
        return;
    }
    plan.recompute_modules = 0;
    for (const auto& [word, bit] : kRecomputeModules) {
        plan.recompute_modules |= says(modules, word) ? bit : 0;
    }
}

void set_experts(const PublishedCase& row,
                 const std::vector<std::string>& words,
                 ParallelPlan& plan) {
    if (says(words, "bf16_grads")) {
        plan.gradient_dtype = Dtype::bf16;
    }
    plan.moments_dtype = says(words, "bf16_moments") ? Dtype::bf16 : plan.moments_dtype;
    plan.moe_shared_expert_overlap = says(words, "shared_expert_overlap");
    for (const auto& [word, dispatcher] : kTokenDispatchers) {
        if (row.token_dispatcher == word) {
            plan.moe_token_dispatcher_type = dispatcher;
        }
    }
    plan.moe_permute_fusion = plan.moe_permute_fusion && !says(words, "no_permute_fusion");
    plan.moe_dispatcher_sms = digits_of(value_of_word(words, "dispatcher_sms"));
    plan.overlap_moe_expert_parallel_comm = row.overlap_moe_expert_parallel_comm;
    plan.delay_wgrad_compute = says(words, "delay_wgrad");
    set_modules(row, plan);
}

// Zipf's law with exponent a over many experts has a Gini coefficient of a / (2 - a). Trained
// routers have 0.105 to 0.150 on real text (arXiv 2605.20982).
constexpr double kNaturalAlpha = 0.25;

// "forced" balance draws the router's scores at random (Megatron-LM:
// --moe-router-force-load-balancing), unless the stack has a way of its own.
void set_load(const PublishedCase& row, const std::vector<std::string>& words, ParallelPlan& plan) {
    if (says(words, "natural_routing")) {
        plan.moe_router_load = RouterLoad::zipf;
        plan.moe_router_load_alpha = kNaturalAlpha;
    } else if (row.router_balance == "forced" && plan.moe_router_load == RouterLoad::balanced) {
        plan.moe_router_load = RouterLoad::uniform;
    }
}

// ZeRO++ and offload: "qwZ=int8;hpZ=16;qgZ=int4", "optimizer:cpu;gradients:cpu".
void set_zero(const PublishedCase& row, ParallelPlan& plan) {
    const std::vector<std::string> switches = words_between(row.quantized_communication, ';');
    plan.zero_quantized_weights = value_of_word(switches, "qwZ") == "int8";
    plan.zero_quantized_gradients = value_of_word(switches, "qgZ") == "int4";
    plan.zero_hpz_partition_size = digits_of(value_of_word(switches, "hpZ"));
    const std::vector<std::string> off = words_between(row.offload, ';');
    plan.optimizer_cpu_offload = says(off, "optimizer:cpu");
    plan.fused_optimizer = plan.fused_optimizer || plan.optimizer_cpu_offload;
    plan.grad_offload_tier = plan.optimizer_cpu_offload && says(off, "gradients:cpu")
                                 ? StateTier::host
                                 : StateTier::device;
    // Source: csrc/adam/cpu_adam.cpp of DeepSpeed until May 2024, PyTorch's copy afterwards.
    plan.offload_fp32_weights = plan.optimizer_cpu_offload && plan.precision != Dtype::fp32 &&
                                row.stack.starts_with("deepspeed");
    // DeepSpeed converts gradients to the optimizer's type before they leave the device
    // (async_inplace_copy_grad_to_fp32_buffer_from_gpu of deepspeed/runtime/zero/stage_1_and_2.py).
    if (plan.grad_offload_tier == StateTier::host && row.stack.starts_with("deepspeed")) {
        plan.gradient_dtype = Dtype::fp32;
    }
}

// The first property of a row that no scenario can express; empty if there is none.
std::string beyond_words(const PublishedCase& row) {
    const bool known = row.token_dispatcher.empty() ||
                       std::ranges::any_of(kTokenDispatchers, [&](const auto& choice) {
                           return choice.word == row.token_dispatcher;
                       });
    if (!known) {
        return fmt::format("token dispatcher '{}'", row.token_dispatcher);
    }
    for (const std::string& word : words_between(row.quantized_communication, ';')) {
        if (word != "qwZ=int8" && word != "qgZ=int4" && !word.starts_with("hpZ=")) {
            return "quantised communication " + word;
        }
    }
    for (const std::string& word : words_between(row.offload, ';')) {
        if (word != "optimizer:cpu" && word != "gradients:cpu") {
            return "offload " + word;
        }
    }
    return {};
}

// Plan of software that the catalogue does not know.
void set_unknown_stack(const PublishedCase& row, ParallelPlan& plan) {
    plan.fused_norm = false;
    plan.gradient_dtype = row.plan.precision == Dtype::fp16 ? Dtype::fp16 : Dtype::fp32;
}

}  // namespace

std::vector<std::string> words_between(std::string_view text, char separator) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = text.find(separator);
        if (end != 0) {
            words.emplace_back(text.substr(0, end));
        }
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return words;
}

bool says(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

std::int64_t digits_of(std::string_view text) {
    std::int64_t number = 0;
    for (const char c : text.substr(0, 9)) {
        if (c < '0' || c > '9') {
            return 0;
        }
        number = number * 10 + (c - '0');
    }
    return number;
}

std::string value_of_word(const std::vector<std::string>& words, std::string_view key) {
    for (const std::string& word : words) {
        if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') {
            return word.substr(key.size() + 1);
        }
    }
    return {};
}

Result<void> set_case_plan(const PublishedCase& row,
                           const Catalogue& catalogue,
                           DeviceSpec& device,
                           ParallelPlan& plan) {
    if (const std::string beyond = beyond_words(row); !beyond.empty()) {
        return fail({}, beyond + " is not expressible");
    }
    const std::vector<std::string> words = words_between(row.features, ';');
    if (const std::string word = unknown_feature(words); !word.empty()) {
        return fail({}, fmt::format("feature '{}' is not expressible", word));
    }
    set_unknown_stack(row, plan);
    if (const Result<void> set = set_stack(row, catalogue, device, plan); !set) {
        return set;
    }
    if (const Result<void> set = set_attention(row, words, device, plan); !set) {
        return set;
    }
    set_features(row, words, plan);
    set_experts(row, words, plan);
    if (const Result<void> set = set_recipe(row, catalogue, plan); !set) {
        return set;
    }
    set_load(row, words, plan);
    set_zero(row, plan);
    if (row.power_cap_w > 0) {
        device.power_limit = row.power_cap_w;
    }
    return set_recomputation(row, words, plan);
}

}  // namespace orrery
