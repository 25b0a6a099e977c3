// SPDX-License-Identifier: Apache-2.0
// Rows of the table of ParallelPlan's fields (models/plan/plan_fields.h): experts.
#pragma once

#include "models/plan/plan_field.h"
#include "models/plan/plan_words.h"

namespace orrery {

// clang-format off
inline constexpr FieldTable kPlanExpertFields{
    ORRERY_PLAN_FIELD(expert_model_parallel_size, pass,
        .meaning = "Ranks that share the experts of a layer between them.",
        .values = kPlanSizes, .unit = "ranks", .short_name = "ep", .searched = true,
        .flags = {"--expert-model-parallel-size"}),
    ORRERY_PLAN_FIELD(expert_tensor_parallel_size, pass,
        .meaning = "Ranks that split the weight matrices of each expert between them; 0: as "
                   "tensor_model_parallel_size.",
        .values = {0, 4'000'000}, .unit = "ranks", .short_name = "etp", .searched = true,
        .flags = {"--expert-tensor-parallel-size"}),
    ORRERY_PLAN_FIELD(moe_token_dispatcher_type, pass,
        .meaning = "What takes tokens to their experts: NCCL's all-to-all, an all-gather of all "
                   "tokens, or a library of its own.",
        .values = kTokenDispatchers, .searched = true,
        .flags = {"--moe-token-dispatcher-type", "--moe-flex-dispatcher-backend"}),
    ORRERY_PLAN_FIELD(moe_dispatch_dtype, pass,
        .meaning = "Type in which tokens are sent to their experts; they come back in 16 bits.",
        .values = kDispatchDtypes),
    ORRERY_PLAN_FIELD(moe_dispatcher_sms, pass,
        .meaning = "SMs that deepep or hybridep hold; 0: as many as they take by default.",
        .values = {0, 1024}, .unit = "SMs",
        .flags = {"--moe-deepep-num-sms", "--moe-hybridep-num-sms"}),
    ORRERY_PLAN_FIELD(overlap_moe_expert_parallel_comm, pass,
        .meaning = "The forward pass of one micro-batch runs beside the backward pass of another.",
        .flags = {"--overlap-moe-expert-parallel-comm"}),
    ORRERY_PLAN_FIELD(delay_wgrad_compute, pass,
        .meaning = "Gradients of weights are made after the exchange of tokens has been started.",
        .flags = {"--delay-wgrad-compute"}),
    ORRERY_PLAN_FIELD(moe_expert_capacity_factor, pass,
        .meaning = "An expert takes at most this many times the mean number of tokens, others "
                   "are dropped; 0: all are taken.",
        .values = {0, 1000}, .flags = {"--moe-expert-capacity-factor"}),
    ORRERY_PLAN_FIELD(moe_pad_expert_input_to_capacity, pass,
        .meaning = "Each expert is filled up to its capacity. No counts travel, and the host reads "
                   "none.",
        .flags = {"--moe-pad-expert-input-to-capacity"}),
    ORRERY_PLAN_FIELD(moe_expert_placement, pass,
        .meaning = "Which experts a rank has: consecutive ones, or likely and unlikely ones "
                   "together.",
        .values = kExpertPlacements),
    ORRERY_PLAN_FIELD(moe_lsh_compression_rate, pass,
        .meaning = "Share of the rows that travel to experts after rows with the same hashes have "
                   "become one; 1: all, and nothing is hashed.",
        .values = {0.001, 1}),
    ORRERY_PLAN_FIELD(moe_pipeline_degree, pass,
        .meaning = "Parts in which a layer's rows are sent to experts, worked on and sent back.",
        .values = {1, 64}, .unit = "parts"),
    ORRERY_PLAN_FIELD(moe_mask_products, pass,
        .meaning = "Rows are gathered and put back by products with masks of tokens and places of "
                   "experts, as in GShard and DeepSpeed-MoE."),
    ORRERY_PLAN_FIELD(moe_tile_overlap, pass,
        .meaning = "Products of experts multiply tiles of rows as they arrive, and tiles are sent "
                   "as they are made (COMET)."),
    ORRERY_PLAN_FIELD(moe_permute_fusion, pass,
        .meaning = "One kernel each moves rows into another order and sums the rows of a token; "
                   "false: operators of PyTorch do."),
    ORRERY_PLAN_FIELD(moe_gradient_accumulation_fusion, pass,
        .meaning = "gradient_accumulation_fusion is also of the experts' products; false: their "
                   "gradients are added by a kernel of its own."),
    ORRERY_PLAN_FIELD(moe_fused_bias, pass,
        .meaning = "The weighed bias of experts is part of their second product."),
    ORRERY_PLAN_FIELD(moe_fused_activation, pass,
        .meaning = "The experts' activation and its casts to MXFP8 are part of their products."),
    ORRERY_PLAN_FIELD(moe_fused_kernels, pass,
        .meaning = "One kernel each chooses experts, counts their tokens and moves rows, as in "
                   "Orrery's own runtime; false: as in Megatron-Core."),
    ORRERY_PLAN_FIELD(moe_router_fusion, pass,
        .meaning = "One kernel each scores and chooses experts, and makes the loss that balances "
                   "them.",
        .flags = {"--moe-router-fusion"}),
    ORRERY_PLAN_FIELD(moe_shared_expert_overlap, pass,
        .meaning = "The shared expert works while tokens travel to the other experts.",
        .flags = {"--moe-shared-expert-overlap"}),
    ORRERY_PLAN_FIELD(moe_router_load, pass,
        .meaning = "Experts that tokens are sent to: equally many to each, drawn uniformly, drawn "
                   "by Zipf's law, drawn so and balanced by a bias, one hot expert of each layer, "
                   "as counted, or equally many, a token's consecutive ones.",
        .values = kRouterLoads, .translated_flags = {"--moe-router-force-load-balancing"}),
    ORRERY_PLAN_FIELD(moe_router_load_alpha, pass,
        .meaning = "Exponent of Zipf's law with moe_router_load zipf or bias_balanced; with hot, "
                   "the hot expert's tokens over the mean.",
        .values = {0, 1000}),
    ORRERY_PLAN_FIELD(moe_router_load_trace, pass,
        .meaning = "With moe_router_load trace, tokens of each expert, or of each expert of each "
                   "layer, or that of each micro-batch.",
        .values = {0, 1'000'000'000'000}, .unit = "tokens"),
    ORRERY_PLAN_FIELD(moe_router_load_seed, pass,
        .meaning = "Seed of the drawn loads of experts.",
        .values = {0, 1'000'000'000}),
};
// clang-format on

}  // namespace orrery
