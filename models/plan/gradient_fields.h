// SPDX-License-Identifier: Apache-2.0
// Rows of the table of ParallelPlan's fields (models/plan/plan_fields.h): types of saved values,
// and of gathered weights and reduced gradients.
#pragma once

#include "models/plan/plan_field.h"
#include "models/plan/plan_words.h"

namespace orrery {

// clang-format off
inline constexpr FieldTable kPlanGradientFields{
    ORRERY_PLAN_FIELD(moments_dtype, chunk,
        .meaning = "Type of the optimizer's two moments.",
        .values = kMainParamsDtypes, .flags = {"--exp-avg-dtype", "--exp-avg-sq-dtype"}),
    ORRERY_PLAN_FIELD(fp8_recipe, pass,
        .meaning = "Where the scales of FP8 values come from: earlier steps, the tensor, each "
                   "row and column, or blocks of 32.",
        .values = kFp8Recipes, .flags = {"--fp8-recipe"}),
    ORRERY_PLAN_FIELD(fp8_param_gather, chunk,
        .meaning = "Sharded weights of layers are gathered in FP8.",
        .flags = {"--fp8-param-gather"}),
    ORRERY_PLAN_FIELD(fp8_saved_inputs, pass,
        .meaning = "FP8 products keep the FP8 copies of their inputs for the backward pass; false: "
                   "the inputs in 16 bits."),
    ORRERY_PLAN_FIELD(fp8_dot_product_attention, pass,
        .meaning = "The products of attention are in FP8, too.",
        .flags = {"--fp8-dot-product-attention"}),
    ORRERY_PLAN_FIELD(vocabulary_parallel, pass,
        .meaning = "Each pipeline stage has a part of the input embedding, of the output layer "
                   "and of the loss."),
    ORRERY_PLAN_FIELD(reduce_scatter, chunk,
        .meaning = "ZeRO 1: gradients are reduced to the ranks that step them; false: to all "
                   "ranks."),
    ORRERY_PLAN_FIELD(reduce_every_micro_batch, chunk,
        .meaning = "ZeRO 2: each backward pass reduces its gradients to the ranks that step them; "
                   "false: whole gradients add up and are reduced once a step."),
    ORRERY_PLAN_FIELD(zero_whole_parameters, chunk,
        .meaning = "ZeRO 1 and 2: each parameter has one owner, which broadcasts it; false: ranks "
                   "gather equal parts."),
    ORRERY_PLAN_FIELD(zero_copies_parts, chunk,
        .meaning = "ZeRO 1 and 2: the parts of gathered parameters are copied one by one."),
    ORRERY_PLAN_FIELD(gradient_bucket_copies, chunk,
        .meaning = "Gradients are copied into the buffer of their reduction and, but for ZeRO 3, "
                   "back."),
    ORRERY_PLAN_FIELD(reduce_bucket_size, pass,
        .meaning = "ZeRO 3: gradient_bucket_copies copies into a bucket of this size; 0: a unit's.",
        .values = {0, 1'000'000'000'000}, .unit = "elements"),
    ORRERY_PLAN_FIELD(fsdp_copy_out, chunk,
        .meaning = "ZeRO 3: gathered weights are copied from the collective's buffer into the "
                   "parameters. With fsdp_unit_layers 0, each rank's part on its own."),
};
// clang-format on

}  // namespace orrery
