// SPDX-License-Identifier: Apache-2.0
// The fields of ParallelPlan, each in one row. A field without a row does not compile.
// Caches of parts of a plan reset the fields that the part does not depend on and use the plan that
// is left as their key.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>

#include "engine/field_count.h"
#include "models/plan.h"

namespace orrery {

// The smallest part of a step whose ops, or whose host time, a field shapes. Where a part is given
// that is smaller than need be, caches hold equal entries; a part that is too large makes them
// return times of another plan.
enum class PlanScope : std::uint8_t {
    pass,   // a chunk's forward or backward pass of one micro-batch
    chunk,  // what a chunk does beside its passes: gradients, gathered weights, optimizer
    step,   // only the order of the passes, and what moves between them
};

template <class T>
struct PlanField {
    std::string_view name;  // also the key of the section `plan`
    T ParallelPlan::*member;
    PlanScope scope;
};

#define ORRERY_PLAN_FIELD(field, scope)                \
    PlanField {                                        \
#field, &ParallelPlan::field, PlanScope::scope \
    }

inline constexpr std::tuple kPlanFields{
    ORRERY_PLAN_FIELD(tensor_model_parallel_size, pass),
    ORRERY_PLAN_FIELD(pipeline_model_parallel_size, pass),
    ORRERY_PLAN_FIELD(virtual_pipeline_model_parallel_size, step),
    ORRERY_PLAN_FIELD(context_parallel_size, pass),
    ORRERY_PLAN_FIELD(data_parallel_size, pass),
    ORRERY_PLAN_FIELD(sequence_parallel, pass),
    ORRERY_PLAN_FIELD(context_parallel_comm, pass),
    ORRERY_PLAN_FIELD(data_parallel_sharding_strategy, chunk),
    ORRERY_PLAN_FIELD(hsdp_shard_size, pass),
    ORRERY_PLAN_FIELD(zero_hpz_partition_size, pass),
    ORRERY_PLAN_FIELD(reshard_after_forward, chunk),
    ORRERY_PLAN_FIELD(fsdp_unit_layers, chunk),
    ORRERY_PLAN_FIELD(fsdp_prefetch_units, chunk),
    ORRERY_PLAN_FIELD(micro_batch_size, pass),
    ORRERY_PLAN_FIELD(global_batch_size, step),
    ORRERY_PLAN_FIELD(precision, pass),
    ORRERY_PLAN_FIELD(recompute_granularity, pass),
    ORRERY_PLAN_FIELD(recompute_method, pass),
    ORRERY_PLAN_FIELD(recompute_num_layers, pass),
    ORRERY_PLAN_FIELD(recompute_modules, pass),
    ORRERY_PLAN_FIELD(schedule, pass),
    ORRERY_PLAN_FIELD(rank_order, pass),
    ORRERY_PLAN_FIELD(attention_kernel, pass),
    ORRERY_PLAN_FIELD(optimizer, pass),
    ORRERY_PLAN_FIELD(gradient_accumulation_fusion, pass),
    ORRERY_PLAN_FIELD(gradient_dtype, pass),
    ORRERY_PLAN_FIELD(main_params_dtype, pass),
    ORRERY_PLAN_FIELD(bf16_stochastic_round, pass),
    ORRERY_PLAN_FIELD(overlap_grad_reduce, chunk),
    ORRERY_PLAN_FIELD(overlap_param_gather, chunk),
    ORRERY_PLAN_FIELD(overlap_param_gather_with_optimizer_step, chunk),
    ORRERY_PLAN_FIELD(tp_comm_overlap, pass),
    ORRERY_PLAN_FIELD(overlap_p2p, step),
    ORRERY_PLAN_FIELD(async_tensor_model_parallel_allreduce, pass),
    ORRERY_PLAN_FIELD(scatter_gather_tensors_in_pipeline, pass),
    ORRERY_PLAN_FIELD(tp_comm_overlap_chunks, pass),
    ORRERY_PLAN_FIELD(fused_norm, pass),
    ORRERY_PLAN_FIELD(fused_activation, pass),
    ORRERY_PLAN_FIELD(fused_cross_entropy, pass),
    ORRERY_PLAN_FIELD(loss_metrics, pass),
    ORRERY_PLAN_FIELD(eager_framework, pass),
    ORRERY_PLAN_FIELD(cuda_graphs, pass),
    ORRERY_PLAN_FIELD(compiled, pass),
    ORRERY_PLAN_FIELD(embedding_and_loss_as_layers, step),
    ORRERY_PLAN_FIELD(prefetch_behind_backward, chunk),
    ORRERY_PLAN_FIELD(ddp_bucket_size, chunk),
    ORRERY_PLAN_FIELD(pipeline_layout, step),
};
#undef ORRERY_PLAN_FIELD

inline constexpr std::size_t kNumPlanFields = std::tuple_size_v<decltype(kPlanFields)>;

// Calls `visit(field)` for each PlanField.
template <class Visit>
constexpr void for_each_plan_field(Visit visit) {
    std::apply([&](const auto&... field) { (visit(field), ...); }, kPlanFields);
}

constexpr bool plan_fields_differ() {
    std::array<std::string_view, kNumPlanFields> names{};
    std::size_t known = 0;
    bool differ = true;
    for_each_plan_field([&](const auto& field) {
        for (std::size_t i = 0; i < known; ++i) {
            differ = differ && names[i] != field.name;
        }
        names[known++] = field.name;
    });
    return differ;
}
static_assert(kNumPlanFields == field_count<ParallelPlan>(), "a field of ParallelPlan has no row");
static_assert(plan_fields_differ(), "a field of ParallelPlan has two rows");

// The plan with every field of a wider scope at its default.
inline ParallelPlan within(ParallelPlan plan, PlanScope scope) {
    const ParallelPlan defaults;
    for_each_plan_field([&](const auto& field) {
        if (field.scope > scope) {
            plan.*field.member = defaults.*field.member;
        }
    });
    return plan;
}

}  // namespace orrery
