// SPDX-License-Identifier: Apache-2.0
#include "models/lowering/optimizer_lowering.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "kernels/optimizer/optimizer.h"
#include "kernels/random.h"
#include "models/blocks/fused_experts.h"
#include "models/segments/host_optimizer.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

MasterCopy master_copy_of(const ParallelPlan& plan) {
    return plan.main_params_dtype == Dtype::fp32 ? MasterCopy::fp32 : MasterCopy::none;
}

// A tensor of the step's end that is not a parameter's.
TensorId fp32_tensor(ProgramTables& tables,
                     std::string name,
                     Lifetime lifetime,
                     TensorKind kind,
                     const Layout& layout,
                     std::int64_t elements,
                     MemoryTier tier = MemoryTier::hbm) {
    return tables.tensor({.name = std::move(name),
                          .parameter = {},
                          .dtype = Dtype::fp32,
                          .kind = kind,
                          .lifetime = lifetime,
                          .global_shape = {},
                          .layout = layout,
                          .bytes = Bytes{elements * size_bytes(Dtype::fp32)},
                          .tier = tier});
}

// The digits whose ranks step different parameters; each rank adds its part of the norm. Ranks with
// the same dense parameters may have different experts; each then adds its share of the dense part.
std::uint32_t gradient_norm_digits(const LayoutAssignment& layouts) {
    const auto copies_of = [](const StateLayouts& state) {
        return state.data_digits & ~digits_with(state.optimizer, Placement::flat);
    };
    const std::uint32_t copies = copies_of(layouts.state) & copies_of(layouts.expert_state);
    std::uint32_t digits = 0;
    for (std::uint32_t digit = 0; digit < layouts.mesh.digits().size(); ++digit) {
        digits |= layouts.mesh.size(digit) > 1 ? 1u << digit : 0u;
    }
    return digits & ~copies;
}

KernelCall update_of(const ParallelPlan& plan, const StateLayouts& state, std::int64_t elements) {
    const Dtype weight = state.weight_dtype;
    const Dtype gradient = state.gradient_dtype;
    return plan.optimizer == Optimizer::lamb
               ? lamb(elements, weight, gradient, master_copy_of(plan))
               : adamw(elements,
                       weight,
                       gradient,
                       master_copy_of(plan),
                       plan.moments_dtype,
                       plan.fused_optimizer ? UpdateForm::one_kernel : UpdateForm::by_operator);
}

void round_stochastically(ProgramTables& tables, const std::vector<TensorId>& weights) {
    for (const TensorId weight : weights) {
        tables.program().tensors[index(weight)].random_purpose =
            static_cast<std::int32_t>(RandomPurpose::stochastic_rounding);
    }
}

// A tensor of optimizer state for this number of elements.
TensorId state_tensor(ProgramTables& tables,
                      const ParallelPlan& plan,
                      const LayoutAssignment& layouts,
                      std::string name,
                      std::int64_t elements,
                      MemoryTier tier) {
    const KernelCall update = update_of(plan, layouts.state, elements);
    return fp32_tensor(tables,
                       std::move(name),
                       Lifetime::persistent,
                       TensorKind::optimizer,
                       layouts.state.optimizer,
                       elements * optimizer_state_bytes(update) / size_bytes(Dtype::fp32),
                       tier);
}

bool steps_on_both(const ParallelPlan& plan) {
    return plan.optimizer_cpu_offload && plan.optimizer_offload_fraction < 1;
}

OptimizerOperands operands_of(ProgramTables& tables,
                              const ParallelPlan& plan,
                              const LayoutAssignment& layouts,
                              std::string state_name,
                              std::span<Chunk* const> chunks) {
    OptimizerOperands out;
    for (Chunk* chunk : chunks) {
        for (const Parameter* p : chunk->parameters()) {
            const StateLayouts& state = state_of(layouts, *p);
            out.sizes.push_back(local_elements({p->elements}, state.optimizer, layouts.mesh));
            out.elements += out.sizes.back();
            out.gradients.push_back(p->gradient_shard);
            out.weights.push_back(p->stored);
        }
    }
    if (plan.bf16_stochastic_round) {
        round_stochastically(tables, out.weights);
    }
    // Each window of a file has its own state, and so have the host and the device if both step.
    if (layouts.state.optimizer_tier != MemoryTier::nvme && !steps_on_both(plan)) {
        out.state = state_tensor(tables,
                                 plan,
                                 layouts,
                                 std::move(state_name),
                                 out.elements,
                                 layouts.state.optimizer_tier);
    }
    return out;
}

// The first half of LAMB. Returns the squared norms of each tensor's weight and update, two fp32
// numbers a tensor. They are summed over the ranks that shard the tensors.
TensorId lower_lamb_update(SegmentBuilder& b,
                           const ParallelPlan& plan,
                           const LayoutAssignment& layouts,
                           const OptimizerOperands& operands) {
    const std::uint32_t digits = gradient_norm_digits(layouts) & ~(1u << layouts.pipeline_digit);
    const TensorId norms = fp32_tensor(b.tables(),
                                       "trust ratio norms",
                                       Lifetime::step,
                                       TensorKind::workspace,
                                       along(layouts.mesh, digits, partial()),
                                       static_cast<std::int64_t>(operands.gradients.size()) * 2);
    OpSpec spec{.name = "optimizer update",
                .cause = Cause::optimizer,
                .reads = operands.weights,
                .writes = {norms},
                .accumulates = operands.gradients};
    spec.reads.push_back(b.tables().scalars());
    spec.accumulates.push_back(operands.state);
    b.kernel(lamb_update(operands.elements,
                         layouts.state.weight_dtype,
                         layouts.state.gradient_dtype,
                         master_copy_of(plan)),
             spec);
    sum_over_ranks(b, {.digits = digits}, "trust ratio reduce", norms);
    return norms;
}

// Returns the position of the op that brings the last weights to the device.
std::uint32_t lower_host_step(SegmentBuilder& b,
                              const ParallelPlan& plan,
                              const LayoutAssignment& layouts,
                              const std::string& state_name,
                              const OptimizerOperands& operands) {
    const MemoryTier tier = layouts.state.optimizer_tier;
    const HostUpdate by_host{
        .call = [&](std::int64_t n) { return update_of(plan, layouts.state, n); },
        .state_bytes = optimizer_state_bytes(update_of(plan, layouts.state, operands.elements)),
        .make_state =
            [&, i = 0](std::int64_t n) mutable {
                return state_tensor(
                    b.tables(), plan, layouts, fmt::format("{} {}", state_name, i++), n, tier);
            },
        .delayed = plan.delayed_param_update,
        .beside_device = steps_on_both(plan),
        .fp32_weights = plan.offload_fp32_weights};
    return lower_host_update(b, layouts.state, operands, by_host);
}

// The operands of the host and of the device.
std::pair<OptimizerOperands, OptimizerOperands> shared_out(ProgramTables& tables,
                                                           const ParallelPlan& plan,
                                                           const LayoutAssignment& layouts,
                                                           const std::string& state_name,
                                                           const OptimizerOperands& all) {
    auto [host, device] = split_operands(all, plan.optimizer_offload_fraction);
    const auto state = [&](const char* where, std::int64_t elements, MemoryTier tier) {
        return state_tensor(tables, plan, layouts, state_name + where, elements, tier);
    };
    device.state = state(" on the device", device.elements, MemoryTier::hbm);
    if (layouts.state.optimizer_tier == MemoryTier::dram) {
        host.state = state(" on the host", host.elements, MemoryTier::dram);
    }
    return {std::move(host), std::move(device)};
}

void lower_step(SegmentBuilder& b,
                const ParallelPlan& plan,
                const LayoutAssignment& layouts,
                const OptimizerOperands& operands) {
    const KernelCall update = update_of(plan, layouts.state, operands.elements);
    OpSpec spec{.name = "optimizer",
                .cause = Cause::optimizer,
                .reads = operands.gradients,
                .writes = operands.weights,
                .accumulates = {operands.state},
                .launches = plan.fused_optimizer ? std::uint8_t{1} : kOperatorsOfAdamw};
    spec.reads.push_back(b.tables().scalars());
    if (!plan.fused_optimizer) {
        spec.writes.push_back(fp32_tensor(
            b.tables(),
            "roots of second moments",
            Lifetime::slot,
            TensorKind::workspace,
            layouts.state.optimizer,
            operands.elements * size_bytes(plan.moments_dtype) / size_bytes(Dtype::fp32)));
    }
    if (plan.optimizer == Optimizer::lamb) {
        spec.reads.push_back(lower_lamb_update(b, plan, layouts, operands));
    }
    b.kernel(update, spec);
}

}  // namespace

OptimizerSegments lower_optimizer(ProgramTables& tables,
                                  const ParallelPlan& plan,
                                  const LayoutAssignment& layouts,
                                  std::int32_t stage,
                                  const std::vector<Chunk*>& chunks) {
    SegmentBuilder b{tables, fmt::format("stage {} optimizer", stage)};
    const std::span<Chunk* const> all = chunks;
    const bool apart = plan.overlap_param_gather_with_optimizer_step;
    const std::string state_name = fmt::format("stage {} optimizer state", stage);
    OptimizerOperands rest;  // all chunks but the first, which is last in this order
    if (apart) {
        rest = operands_of(tables, plan, layouts, state_name, all.first(all.size() - 1));
    }
    const OptimizerOperands first = operands_of(tables,
                                                plan,
                                                layouts,
                                                state_name + (apart ? " of the first chunk" : ""),
                                                apart ? all.last(1) : all);
    const std::uint32_t digits = gradient_norm_digits(layouts);
    const TensorId norm = fp32_tensor(tables,
                                      "gradient norm",
                                      Lifetime::step,
                                      TensorKind::workspace,
                                      along(layouts.mesh, digits, partial()),
                                      1);
    const std::int64_t elements = rest.elements + first.elements;
    std::vector<TensorId> gradients = rest.gradients;
    gradients.insert(gradients.end(), first.gradients.begin(), first.gradients.end());
    // The norm of offloaded gradients is known by unit; clipping is part of their step.
    const bool left = layouts.state.gradients_tier != MemoryTier::hbm;
    OpSpec spec{.name = "gradient norm",
                .cause = Cause::optimizer,
                .reads = left ? std::vector<TensorId>{} : gradients,
                .writes = {norm},
                .accumulates = {}};
    b.kernel(gradient_norm(left ? 1 : elements, layouts.state.gradient_dtype), spec);
    sum_over_ranks(b, {.digits = digits, .stages = true}, "gradient norm reduce", norm);
    OptimizerSegments out{.read = b.size() - 1};
    spec = {.name = "gradient clip",
            .cause = Cause::optimizer,
            .reads = {norm, tables.scalars()},
            .writes = {},
            .accumulates = gradients};
    if (!left) {
        b.kernel(gradient_scale(elements, layouts.state.gradient_dtype), spec);
    }
    const std::string first_name = state_name + (apart ? " of the first chunk" : "");
    if (layouts.state.optimizer_tier == MemoryTier::hbm) {
        lower_step(b, plan, layouts, first);
    } else if (!steps_on_both(plan)) {
        const std::uint32_t read = lower_host_step(b, plan, layouts, first_name, first);
        out.read = plan.delayed_param_update ? read : out.read;
    } else {
        const auto [host, device] = shared_out(tables, plan, layouts, first_name, first);
        lower_host_step(b, plan, layouts, first_name, host);
        lower_step(b, plan, layouts, device);
    }
    lower_router_states(b, layouts, all);
    out.first = b.finish();
    if (apart) {
        SegmentBuilder others{tables, fmt::format("stage {} optimizer of the rest", stage)};
        if (layouts.state.optimizer_tier == MemoryTier::hbm) {
            lower_step(others, plan, layouts, rest);
        } else {
            lower_host_step(others, plan, layouts, state_name, rest);
        }
        out.rest = others.finish();
    }
    return out;
}

}  // namespace orrery
