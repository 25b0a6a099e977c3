// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_experts.h"

#include <fmt/format.h>

#include "models/plan/divisors.h"
#include "models/plan/rank_mesh.h"
#include "models/plan/validate_plan.h"
#include "models/plan/validate_schedule.h"

namespace orrery {
namespace {

constexpr std::uint32_t kExpertModules = modules_with(kExpertParts);

constexpr auto kExpertGraphs = static_cast<std::uint32_t>(CudaGraphPart::moe_router) |
                               static_cast<std::uint32_t>(CudaGraphPart::moe_preprocess);

struct ExpertRules {
    const Transformer& model;
    const ParallelPlan& plan;
    std::int64_t num_gpus;
    Errors errors{};

    void reject(std::string key, std::string what, std::string hint) {
        errors.push_back({std::move(key), std::move(what), std::move(hint)});
    }
    void reject_modules_of_products(const char* of_what, const char* hint) {
        if ((plan.recompute_modules & kProductModules) != 0) {
            reject("plan.recompute_modules",
                   fmt::format("{} are of {}", words_of_modules(kProductModules), of_what),
                   hint);
        }
    }
    void require_divides(const char* key, std::int64_t size, const char* what, std::int64_t n) {
        if (size < 1 || n % size != 0) {
            reject(key,
                   fmt::format("{} does not divide {} {}", size, what, n),
                   fmt::format("{}", fmt::join(divisors(n), ", ")));
        }
    }

    void without_experts();
    void of_model();
    void of_ranks();
    void of_state();
    void of_groups();
    void of_dispatcher();
    void of_fused_activation();
    void of_parts();
    void of_padding();
    void of_masks();
    void of_tiles();
    void of_load();
    void of_overlap();
    void of_graphs();
    void latent_attention();
};

void ExpertRules::without_experts() {
    const auto needless = [&](bool given, std::string key, std::string hint) {
        if (given) {
            reject("plan." + std::move(key), "the model has no experts", std::move(hint));
        }
    };
    needless(plan.expert_model_parallel_size != 1, "expert_model_parallel_size", "1");
    needless(plan.expert_tensor_parallel_size != 0, "expert_tensor_parallel_size", "0");
    needless(plan.moe_token_dispatcher_type != TokenDispatcher::alltoall,
             "moe_token_dispatcher_type",
             "alltoall");
    needless(plan.moe_router_load != RouterLoad::balanced, "moe_router_load", "balanced");
    needless(!plan.moe_router_load_trace.empty(), "moe_router_load_trace", "leave it out");
    needless(plan.moe_expert_capacity_factor != 0, "moe_expert_capacity_factor", "0");
    needless(plan.moe_pad_expert_input_to_capacity, "moe_pad_expert_input_to_capacity", "false");
    needless(plan.moe_dispatch_dtype != Dtype::bf16, "moe_dispatch_dtype", "bf16");
    needless(plan.moe_dispatcher_sms != 0, "moe_dispatcher_sms", "0");
    needless(plan.overlap_moe_expert_parallel_comm, "overlap_moe_expert_parallel_comm", "false");
    needless(plan.delay_wgrad_compute, "delay_wgrad_compute", "false");
    needless(plan.moe_shared_expert_overlap, "moe_shared_expert_overlap", "false");
    needless(plan.moe_router_fusion, "moe_router_fusion", "false");
    needless(!plan.moe_permute_fusion, "moe_permute_fusion", "true");
    needless(!plan.moe_gradient_accumulation_fusion, "moe_gradient_accumulation_fusion", "true");
    needless(plan.moe_fused_bias, "moe_fused_bias", "false");
    needless(plan.moe_fused_activation, "moe_fused_activation", "false");
    needless(plan.moe_mask_products, "moe_mask_products", "false");
    needless(plan.moe_tile_overlap, "moe_tile_overlap", "false");
    needless((plan.cuda_graph_scope & kExpertGraphs) != 0, "cuda_graph_scope", "attn and mlp");
    needless(plan.recomputes(kExpertModules),
             "recompute_modules",
             "without " + words_of_modules(kExpertModules));
}

void ExpertRules::of_model() {
    if (model.moe_router_topk > model.num_experts) {
        reject("model.moe_router_topk",
               fmt::format("{} of {} experts", model.moe_router_topk, model.num_experts),
               fmt::format("1 to {}", model.num_experts));
    }
    if (model.first_k_dense_replace >= model.num_layers) {
        reject("model.first_k_dense_replace",
               fmt::format("{} layers without experts of {} leave none",
                           model.first_k_dense_replace,
                           model.num_layers),
               "less, or model.num_experts: 0");
    }
    if (model.parallel_block) {
        reject("model.parallel_block", "experts need their own norm and branch", "false");
    }
    if (plan.moe_shared_expert_overlap && model.moe_shared_expert_intermediate_size == 0) {
        reject("plan.moe_shared_expert_overlap", "the model has no shared expert", "false");
    }
    reject_modules_of_products("layers with one MLP", "core_attn, layernorm, mlp, moe_act, moe");
}

void ExpertRules::of_ranks() {
    const std::int64_t tp = plan.tensor_model_parallel_size;
    const std::int64_t etp = plan.expert_tensor_size();
    const std::int64_t ep = plan.expert_model_parallel_size;
    if (tp > 1 && !plan.sequence_parallel) {
        reject("plan.sequence_parallel",
               "tensor-parallel ranks would route the same tokens twice",
               "true, or tensor_model_parallel_size 1");
    }
    if (!plan.stage_tensor_model_parallel_sizes.empty()) {
        reject("plan.stage_tensor_model_parallel_sizes",
               "stages of a model with experts have one tensor-parallel size",
               "leave it out");
        return;
    }
    require_divides("plan.expert_model_parallel_size", ep, "num_experts", model.num_experts);
    require_divides(
        "plan.expert_tensor_parallel_size", etp, "the experts' width", model.expert_ffn_size());
    if (model.moe_shared_expert_intermediate_size > 0) {
        require_divides("plan.tensor_model_parallel_size",
                        tp,
                        "moe_shared_expert_intermediate_size",
                        model.moe_shared_expert_intermediate_size);
    }
    ParallelPlan whole = plan;
    whole.data_parallel_size = derived_data_parallel_size(plan, num_gpus);
    if (whole.data_parallel_size == 0 || !errors.empty()) {
        return;
    }
    const std::int64_t stage = tp * plan.context_parallel_size * whole.data_parallel_size;
    if (stage % (etp * ep) != 0) {
        reject("plan.expert_model_parallel_size",
               fmt::format("expert tensor {} x expert {} does not divide the {} ranks of a stage",
                           etp,
                           ep,
                           stage),
               fmt::format("a product out of {}", fmt::join(divisors(stage), ", ")));
        return;
    }
    const RankMisfit misfit = expert_misfit(whole, ranks_of_key_value_head(model, whole));
    if (misfit.experts != 0) {
        reject(
            "plan.expert_model_parallel_size",
            fmt::format("experts take {} consecutive ranks together and other layers {}: neither "
                        "divides the other",
                        misfit.experts,
                        misfit.others),
            "sizes of which one divides the other, such as powers of two");
        return;
    }
    const std::int64_t model_ranks = tp * plan.context_parallel_size;
    if (plan.rank_order == RankOrder::tp_cp_pp_dp && model_ranks % (etp * ep) != 0 &&
        plan.pipeline_model_parallel_size > 1) {
        reject("plan.rank_order",
               "ranks that share experts would be on several pipeline stages' sides",
               "tp-cp-dp-pp");
    }
}

void ExpertRules::of_state() {
    if (plan.zero_hpz_partition_size > 1 && plan.expert_model_parallel_size > 1) {
        reject("plan.zero_hpz_partition_size",
               "experts have no secondary copy of their own",
               "0, or expert_model_parallel_size 1");
    }
    if (plan.optimizer == Optimizer::lamb) {
        reject("plan.optimizer", "LAMB has no norms of experts", "adam");
    }
}

void ExpertRules::of_groups() {
    const std::int64_t groups = model.moe_router_num_groups;
    const std::int64_t chosen = model.moe_router_group_topk;
    if (groups == 0 && chosen == 0) {
        return;
    }
    if (groups < 1 || model.num_experts % groups != 0) {
        reject("model.moe_router_num_groups",
               fmt::format("{} groups do not divide {} experts", groups, model.num_experts),
               fmt::format("{}", fmt::join(divisors(model.num_experts), ", ")));
    } else if (chosen < 1 || chosen > groups ||
               chosen * (model.num_experts / groups) < model.moe_router_topk) {
        reject("model.moe_router_group_topk",
               fmt::format("{} of {} groups have no {} experts for a token",
                           chosen,
                           groups,
                           model.moe_router_topk),
               fmt::format("up to {}", groups));
    }
}

void ExpertRules::of_dispatcher() {
    const TokenDispatcher by = plan.moe_token_dispatcher_type;
    if (plan.moe_dispatcher_sms != 0 && by != TokenDispatcher::deepep &&
        by != TokenDispatcher::hybridep) {
        reject("plan.moe_dispatcher_sms",
               "only deepep and hybridep hold SMs of their own",
               "0, or plan.moe_token_dispatcher_type: deepep");
    }
    if (plan.moe_fused_kernels && !plan.sends_row_for_each_expert()) {
        reject("plan.moe_fused_kernels",
               "fused kernels send a row for each expert of a token",
               "false, or plan.moe_token_dispatcher_type: alltoall, hierarchical or 2dh");
    }
    const bool by_nccl = by == TokenDispatcher::alltoall || by == TokenDispatcher::allgather;
    const bool operators = by_nccl && !plan.moe_fused_kernels && !plan.moe_mask_products &&
                           plan.moe_pipeline_degree == 1;
    if (!plan.moe_permute_fusion && !operators) {
        reject("plan.moe_permute_fusion",
               "operators of PyTorch move all rows at once, beside an exchange by NCCL",
               "true, or plan.moe_token_dispatcher_type: alltoall or allgather without "
               "moe_fused_kernels, moe_mask_products and parts");
    }
    if (!plan.moe_gradient_accumulation_fusion && !plan.gradient_accumulation_fusion) {
        reject("plan.moe_gradient_accumulation_fusion",
               "without gradient_accumulation_fusion no product adds to gradients",
               "true, or plan.gradient_accumulation_fusion: true");
    }
    if (plan.moe_fused_bias && (plan.moe_fused_kernels || !model.add_bias_linear)) {
        reject("plan.moe_fused_bias",
               plan.moe_fused_kernels ? "moe_fused_kernels is one product with its bias"
                                      : "the experts have no biases",
               "false");
    }
    if (plan.moe_fused_kernels && plan.moe_router_fusion) {
        reject("plan.moe_router_fusion", "moe_fused_kernels is a router of its own", "false");
    }
    if (plan.moe_dispatch_dtype == Dtype::fp8 && by == TokenDispatcher::allgather) {
        reject("plan.moe_dispatch_dtype", "all-gathered tokens stay in 16 bits", "bf16");
    }
    if (plan.moe_shared_expert_overlap && by == TokenDispatcher::allgather) {
        reject("plan.moe_shared_expert_overlap",
               "the shared expert runs beside an exchange of rows",
               "false, or plan.moe_token_dispatcher_type: alltoall");
    }
}

// Transformer Engine's conditions (ops/fused/forward_grouped_mlp.py, fuse_grouped_mlp_ops).
void ExpertRules::of_fused_activation() {
    const auto refuse = [&](bool given, std::string what) {
        if (plan.moe_fused_activation && given) {
            reject("plan.moe_fused_activation", std::move(what), "false");
        }
    };
    refuse(plan.precision != Dtype::fp8 || plan.fp8_recipe != Fp8Recipe::mxfp8,
           "the products of experts are not in MXFP8");
    refuse(!model.gated_mlp(), "the activation has no gate");
    refuse(plan.moe_fused_kernels, "moe_fused_kernels has kernels of its own");
    refuse(plan.moe_mask_products, "rows that masks gather have no weights of their own");
    refuse(plan.recomputes(static_cast<std::uint32_t>(RecomputeModule::moe_act)),
           "an activation inside a product is not recomputed alone");
}

// Megatron-Core's conditions (transformer_config.py). Experts that are full have equal rows,
// whatever tokens choose.
void ExpertRules::of_padding() {
    if (!plan.moe_pad_expert_input_to_capacity) {
        return;
    }
    const std::string key = "plan.moe_pad_expert_input_to_capacity";
    if (plan.moe_expert_capacity_factor == 0) {
        reject(key, "experts have no capacity", "false, or a moe_expert_capacity_factor");
    }
    if (!plan.sends_row_for_each_expert() || plan.moe_fused_kernels ||
        !is_even(plan.moe_router_load)) {
        reject(key,
               "full experts take equal rows of an all-to-all",
               "false, or moe_router_load balanced and moe_token_dispatcher_type alltoall, "
               "hierarchical or 2dh without moe_fused_kernels");
    }
}

void ExpertRules::of_parts() {
    const bool hashes = plan.moe_lsh_compression_rate != 1;
    const bool rows = plan.sends_row_for_each_expert() && !plan.moe_fused_kernels;
    const bool alike = rows && is_even(plan.moe_router_load);
    if (hashes && !alike) {
        reject("plan.moe_lsh_compression_rate",
               "equal rows for each expert are hashed before they are sent, by kernels of their "
               "own",
               "1, or moe_router_load balanced and moe_token_dispatcher_type alltoall, "
               "hierarchical or 2dh without moe_fused_kernels");
    }
    if (!(plan.moe_lsh_compression_rate > 0 && plan.moe_lsh_compression_rate <= 1)) {
        reject("plan.moe_lsh_compression_rate", "is a share of the rows", "more than 0, up to 1");
    }
    const bool parts = plan.moe_pipeline_degree != 1;
    if (parts && !alike) {
        reject("plan.moe_pipeline_degree",
               "parts are of equal rows for each expert, sent for each expert of a token",
               "1, or moe_router_load balanced and moe_token_dispatcher_type alltoall, "
               "hierarchical or 2dh without moe_fused_kernels");
    }
    if (parts && (plan.overlap_moe_expert_parallel_comm || plan.precision == Dtype::fp8)) {
        reject("plan.moe_pipeline_degree",
               "parts hide exchanges behind products of 16 bits of the same layer",
               "1, or overlap_moe_expert_parallel_comm: false and precision bf16");
    }
    if (parts && (model.add_bias_linear || plan.moe_shared_expert_overlap)) {
        reject("plan.moe_pipeline_degree",
               "parts have no biases, and no shared expert beside them",
               "1, or model.add_bias_linear and plan.moe_shared_expert_overlap: false");
    }
    constexpr std::uint32_t kBesideExperts = modules_within(LayerPart::core | LayerPart::norms);
    if (parts && plan.recomputes(~kBesideExperts)) {
        reject("plan.recompute_modules",
               "what experts make in parts does not run again by itself",
               words_of_modules(kBesideExperts) + ", or plan.moe_pipeline_degree: 1");
    }
}

// DeepSpeed-MoE's layer (deepspeed/moe/sharded_moe.py) at equal loads, which fill all places.
void ExpertRules::of_masks() {
    const bool fitting = plan.sends_row_for_each_expert() && !plan.moe_fused_kernels &&
                         is_even(plan.moe_router_load) && plan.moe_pipeline_degree == 1 &&
                         plan.moe_lsh_compression_rate == 1 && plan.expert_tensor_size() == 1 &&
                         plan.precision != Dtype::fp8;
    if (plan.moe_mask_products && !fitting) {
        reject("plan.moe_mask_products",
               "masks have a place for each row of equal loads, in 16 or 32 bits",
               "false, or moe_token_dispatcher_type alltoall and moe_router_load balanced without "
               "moe_fused_kernels, moe_pipeline_degree and expert_tensor_parallel_size");
    }
}

void ExpertRules::of_tiles() {
    if (!plan.moe_tile_overlap) {
        return;
    }
    const std::string key = "plan.moe_tile_overlap";
    if (plan.expert_model_parallel_size == 1) {
        reject(key, "no rank exchanges tokens", "false, or an expert_model_parallel_size");
    }
    const bool fitting = plan.moe_token_dispatcher_type == TokenDispatcher::alltoall &&
                         !plan.moe_fused_kernels && !plan.moe_mask_products &&
                         plan.moe_pipeline_degree == 1 && plan.expert_tensor_size() == 1 &&
                         plan.precision != Dtype::fp8 && !model.add_bias_linear;
    if (!fitting) {
        reject(key,
               "tiles are of products of 16 or 32 bits without a bias, whose rows kernels of their "
               "own send",
               "false, or moe_token_dispatcher_type alltoall without moe_fused_kernels, "
               "moe_mask_products, moe_pipeline_degree and expert_tensor_parallel_size");
    }
    if (plan.overlap_moe_expert_parallel_comm || plan.moe_shared_expert_overlap) {
        reject(key,
               "the exchange has one partner: the products of its own layer",
               "false, or overlap_moe_expert_parallel_comm and moe_shared_expert_overlap: false");
    }
    if (plan.recomputes(modules_with(LayerPart::experts))) {
        reject("plan.recompute_modules",
               "products and exchanges of one kernel do not run again by themselves",
               "without moe, or plan.moe_tile_overlap: false");
    }
}

void ExpertRules::of_load() {
    const auto given = static_cast<std::int64_t>(plan.moe_router_load_trace.size());
    const bool traced = plan.moe_router_load == RouterLoad::trace;
    const std::int64_t each = model.num_experts;
    const std::int64_t all = each * model.num_layers;
    const std::int64_t batches = plan.num_micro_batches();
    if (traced && given != each && given != all && given != all * batches) {
        reject("plan.moe_router_load_trace",
               fmt::format("{} numbers for {} experts", given, each),
               fmt::format("{}, {} for all layers, or {} for these in {} micro-batches",
                           each,
                           all,
                           all * batches,
                           batches));
    } else if (!traced && given > 0) {
        reject("plan.moe_router_load_trace",
               "moe_router_load says where loads come from",
               "plan.moe_router_load: trace");
    }
    if (plan.moe_expert_placement == ExpertPlacement::balanced && model.moe_router_num_groups > 0) {
        reject("plan.moe_expert_placement",
               "a token's groups of experts are consecutive ones",
               "linear, or model.moe_router_num_groups: 0");
    }
    if (plan.moe_router_load == RouterLoad::hot && plan.moe_router_load_alpha < 1) {
        reject("plan.moe_router_load_alpha",
               "a hot expert has more tokens than the mean",
               "1 or more");
    }
}

// Megatron-Core's conditions (transformer_config.py, combined_1f1b.py).
void ExpertRules::of_overlap() {
    const std::string key = "plan.overlap_moe_expert_parallel_comm";
    if (!plan.overlap_moe_expert_parallel_comm) {
        if (plan.delay_wgrad_compute) {
            reject("plan.delay_wgrad_compute",
                   "gradients of weights wait for overlapped exchanges only",
                   "false, or set " + key);
        }
        return;
    }
    if (plan.expert_model_parallel_size == 1) {
        reject(key, "no rank exchanges tokens", "false, or an expert_model_parallel_size");
    }
    if (plan.moe_token_dispatcher_type == TokenDispatcher::allgather) {
        reject(key, "gathers of tokens are not overlapped", "false, or another dispatcher");
    }
    if (plan.recompute_granularity == Recompute::full ||
        plan.recomputes(modules_with(LayerPart::experts))) {
        reject(key,
               "layers that run again would exchange their tokens again inside the backward pass",
               "false, or selective recomputation without moe");
    }
    if (plan.moe_shared_expert_overlap) {
        reject(key, "the shared expert has a stream of its own then", "one of both");
    }
    const bool pairs = plan.chunks_of_stage() > 1 && plan.schedule != ScheduleKind::breadth_first;
    if (plan.pipeline_model_parallel_size > 1 && !pairs) {
        reject(key,
               "pipelines overlap passes of two chunks",
               "false, a virtual_pipeline_model_parallel_size above 1, or plan.schedule dualpipe");
    }
    if (plan.shards_weights()) {
        reject(key,
               "weights gathered for one pass would be of the other's layers, too",
               "false, or data_parallel_sharding_strategy optim");
    }
}

void ExpertRules::of_graphs() {
    const char* const key = "plan.cuda_graph_scope";
    if (plan.cuda_graph_scope != 0 && plan.cuda_graphs) {
        reject(key, "cuda_graphs captures everything", "leave out one of both");
    }
    if (plan.captures(CudaGraphPart::moe_preprocess) && !plan.captures(CudaGraphPart::moe_router)) {
        reject(key, "moe_preprocess follows the router in one graph", "moe_router, too");
    }
}

void ExpertRules::latent_attention() {
    if (!model.multi_latent_attention) {
        if (plan.recomputes(modules_with(LayerPart::latent_heads))) {
            reject("plan.recompute_modules",
                   "mla_up_proj is of latent attention",
                   "without it, or model.multi_latent_attention");
        }
        return;
    }
    if (plan.context_parallel_size > 1) {
        reject("plan.context_parallel_size", "latent attention's sequences can't be split", "1");
    }
    if (model.parallel_block) {
        reject("model.parallel_block", "latent attention has a branch of its own", "false");
    }
    if (model.qk_layernorm) {
        reject("model.qk_layernorm", "latent attention norms its latent vectors instead", "false");
    }
    reject_modules_of_products("plain attention", "others");
}

}  // namespace

Errors check_experts(const Transformer& model, const ParallelPlan& plan, std::int64_t num_gpus) {
    ExpertRules rules{.model = model, .plan = plan, .num_gpus = num_gpus};
    rules.errors = check_schedule(model, plan, num_gpus);
    rules.latent_attention();
    rules.of_graphs();
    if (model.num_experts == 0) {
        rules.without_experts();
        return rules.errors;
    }
    rules.of_model();
    rules.of_ranks();
    rules.of_state();
    rules.of_groups();
    rules.of_dispatcher();
    rules.of_fused_activation();
    rules.of_parts();
    rules.of_padding();
    rules.of_masks();
    rules.of_tiles();
    rules.of_load();
    rules.of_overlap();
    return rules.errors;
}

}  // namespace orrery
