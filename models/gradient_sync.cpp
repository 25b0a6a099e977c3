// SPDX-License-Identifier: Apache-2.0
#include "models/gradient_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "kernels/optimizer/optimizer.h"
#include "kernels/random.h"
#include "models/fused_experts.h"
#include "models/host_optimizer.h"
#include "models/relayout.h"

namespace orrery {
namespace {

// Megatron-LM's bucket size when the reduction overlaps: max(40M, 1M * data-parallel size).
constexpr std::int64_t kBucketElementsMin = 40'000'000;
constexpr std::int64_t kBucketElementsPerRank = 1'000'000;

// Digits outside the data digits along which some gradients are partial sums: norms under sequence
// parallelism.
std::uint32_t model_partial_digits(const Parameter& p, const StateLayouts& state) {
    return digits_with(p.gradient_layout, Placement::partial) & ~state.data_digits;
}

// The collectives between two layouts of `elements` elements side by side.
struct Move {
    std::string_view name;
    Traffic traffic = Traffic::data;
    Layout from{};
    Layout to{};
    std::int64_t elements = 0;  // all that the data digits leave a rank
    Dtype dtype = Dtype::fp32;
};

void append(SegmentBuilder& ops, const Mesh& mesh, const Move& move, OpSpec operands) {
    operands.name = std::string{move.name};
    const auto elements = [&](const Layout& layout) {
        return local_elements({move.elements}, layout, mesh);
    };
    for (const RelayoutStep& step : relayout_steps(move.from, move.to, elements)) {
        emit(ops, step, {.traffic = move.traffic, .wire = move.dtype}, operands);
    }
}

}  // namespace

std::vector<Bucket> make_buckets(Chunk& chunk,
                                 const ParallelPlan& plan,
                                 const LayoutAssignment& layouts) {
    // Megatron-LM makes one bucket of each chunk if a chunk's weights are gathered at once.
    const bool overlaps = (plan.overlap_grad_reduce || plan.overlap_param_gather) &&
                          !plan.overlap_param_gather_with_optimizer_step;
    std::vector<Parameter*> order = chunk.parameters();
    std::reverse(order.begin(), order.end());
    std::vector<Bucket> buckets;
    // Experts have buckets of their own. A bucket's place is where its last gradient is made.
    std::array<Bucket, 2> open;
    const auto close = [&](Bucket& bucket) {
        if (!bucket.parameters.empty()) {
            buckets.push_back(std::exchange(bucket, {}));
        }
    };
    for (Parameter* p : order) {
        const StateLayouts& state = state_of(layouts, *p);
        if (state.by_unit()) {
            continue;  // in the passes
        }
        Bucket& bucket = open[p->of_experts() ? 1 : 0];
        const std::int64_t size =
            plan.ddp_bucket_size != 0
                ? plan.ddp_bucket_size
                : std::max<std::int64_t>(
                      kBucketElementsMin,
                      kBucketElementsPerRank * layouts.mesh.combined_size(state.data_digits));
        if (overlaps && bucket.elements >= size) {
            close(bucket);
        }
        bucket.parameters.push_back(p);
        bucket.elements += p->elements;
    }
    close(open[1]);
    close(open[0]);
    return buckets;
}

namespace {

MasterCopy master_copy_of(const ParallelPlan& plan) {
    return plan.main_params_dtype == Dtype::fp32 ? MasterCopy::fp32 : MasterCopy::none;
}

OpSpec spec_of(Cause cause) {
    return {.name = {}, .cause = cause, .reads = {}, .writes = {}, .accumulates = {}};
}

void reduce_gradients(SegmentBuilder& ops,
                      const std::vector<Bucket>& buckets,
                      const LayoutAssignment& layouts) {
    for (const Bucket& bucket : buckets) {
        const StateLayouts& state = state_of(layouts, *bucket.parameters.front());
        OpSpec spec = spec_of(Cause::exposed_data);
        for (const Parameter* p : bucket.parameters) {
            spec.accumulates.push_back(p->gradient);
        }
        append(ops,
               layouts.mesh,
               {.name = "gradient reduce",
                .from = state.made_gradients,
                .to = state.gradients,
                .elements = bucket.elements,
                .dtype = state.gradient_dtype},
               spec);
    }
}

void gather_parameters(SegmentBuilder& ops,
                       const std::vector<Bucket>& buckets,
                       const LayoutAssignment& layouts) {
    for (const Bucket& bucket : buckets) {
        const StateLayouts& state = state_of(layouts, *bucket.parameters.front());
        const std::int64_t parts = StateLayouts::parts(state.optimizer, layouts.mesh);
        OpSpec spec = spec_of(Cause::exposed_data);
        for (const Parameter* p : bucket.parameters) {
            spec.writes.push_back(p->weight);
        }
        append(ops,
               layouts.mesh,
               {.name = "parameter gather",
                .from = state.optimizer,
                .to = state.whole,
                // The shards are equally long: the last one is padded.
                .elements = (bucket.elements + parts - 1) / parts * parts,
                .dtype = state.gathered_weights.dtype},
               spec);
    }
}

// Norms and biases of which every rank of the sequence-parallel group saw a part. It stands after
// the buckets on their stream, as in Megatron-LM's finalize_model_grads: it has to wait for the
// chunk's first layer, and they must not.
void reduce_model_partials(SegmentBuilder& ops, Chunk& chunk, const LayoutAssignment& layouts) {
    std::int64_t elements = 0;
    std::uint32_t digits = 0;
    OpSpec spec = spec_of(Cause::exposed_tensor);
    for (const Parameter* p : chunk.parameters()) {
        const std::uint32_t partial_digits = model_partial_digits(*p, state_of(layouts, *p));
        if (partial_digits != 0) {
            const Tensor& kept = ops.tables().program().tensors[index(p->gradient_shard)];
            digits |= partial_digits;
            elements += kept.bytes.count() / size_bytes(kept.dtype);
            spec.accumulates.push_back(p->gradient_shard);
        }
    }
    append(ops,
           layouts.mesh,
           {.name = "sequence-parallel gradient reduce",
            .traffic = Traffic::norm_gradient,
            .from = along(layouts.mesh, digits, partial()),
            .to = layouts.state.whole,
            .elements = elements,
            .dtype = layouts.state.gradient_dtype},
           spec);
}

}  // namespace

SyncSegments lower_sync(ProgramTables& tables,
                        const ParallelPlan& plan,
                        const LayoutAssignment& layouts,
                        Chunk& chunk) {
    SyncSegments result;
    const std::string where =
        fmt::format("stage {} chunk {} ", chunk.shape.stage, chunk.shape.chunk);
    SegmentBuilder gradients{tables, where + "gradient sync"};
    SegmentBuilder parameters{tables, where + "parameter sync"};
    std::vector<Bucket> buckets = make_buckets(chunk, plan, layouts);
    reduce_gradients(gradients, buckets, layouts);
    // The forward pass needs the first layers first.
    std::reverse(buckets.begin(), buckets.end());
    gather_parameters(parameters, buckets, layouts);
    reduce_model_partials(gradients, chunk, layouts);
    if (gradients.size() > 0) {
        result.gradients = gradients.finish();
    }
    if (parameters.size() > 0) {
        result.parameters = parameters.finish();
    }
    return result;
}

SegmentId lower_tied_embedding_sync(ProgramTables& tables,
                                    const LayoutAssignment& layouts,
                                    const Chunk& chunk) {
    const Parameter& copy = chunk.shape.has_embedding ? chunk.embedding : chunk.output;
    SegmentBuilder b{tables, "tied embedding gradient"};
    // All of it even where each data rank has reduced only its shard (as Megatron-LM does), unless
    // no more than the shard persists.
    const Tensor& summed = tables.program().tensors[index(copy.gradient_shard)];
    const std::uint32_t stages = layouts.mesh.size(layouts.pipeline_digit);
    emit(b,
         {.step = {.kind = CollectiveKind::all_reduce, .digits = 1u << layouts.pipeline_digit},
          .to = {},
          .elements = summed.bytes.count() / size_bytes(summed.dtype)},
         {.traffic = Traffic::tied_gradient, .wire = summed.dtype, .subset = {0u, stages - 1}},
         {.name = "tied embedding gradient reduce",
          .reads = {},
          .writes = {},
          .accumulates = {copy.gradient_shard}});
    return b.finish();
}

SegmentId lower_copies_sync(ProgramTables& tables, const LayoutAssignment& layouts, Chunk& chunk) {
    SegmentBuilder b{
        tables,
        fmt::format(
            "stage {} chunk {} gradients of both copies", chunk.shape.stage, chunk.shape.chunk)};
    const auto stage = static_cast<std::uint32_t>(chunk.shape.stage);
    const std::uint32_t other = layouts.mesh.size(layouts.pipeline_digit) - 1 - stage;
    std::map<Dtype, OpSpec> by_dtype;
    std::map<Dtype, std::int64_t> elements;
    for (const Parameter* p : chunk.parameters()) {
        const Tensor& shard = tables.program().tensors[index(p->gradient_shard)];
        by_dtype[shard.dtype].accumulates.push_back(p->gradient_shard);
        elements[shard.dtype] += shard.bytes.count() / size_bytes(shard.dtype);
    }
    for (auto& [dtype, spec] : by_dtype) {
        spec.name = "gradient reduce of both copies";
        emit(b,
             {.step = {.kind = CollectiveKind::all_reduce, .digits = 1u << layouts.pipeline_digit},
              .to = {},
              .elements = elements[dtype]},
             {.traffic = Traffic::data,
              .wire = dtype,
              .subset = {std::min(stage, other), std::max(stage, other)}},
             spec);
    }
    return b.finish();
}

namespace {

// A tensor of the step's end that belongs to no single parameter.
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

// The digits whose ranks step other parameters: each adds its part of the norm. Ranks that have the
// same dense parameters may have other experts: then they add their share of what is the same.
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
               : adamw(elements, weight, gradient, master_copy_of(plan), plan.moments_dtype);
}

void round_stochastically(ProgramTables& tables, const std::vector<TensorId>& weights) {
    for (const TensorId weight : weights) {
        tables.program().tensors[index(weight)].random_purpose =
            static_cast<std::int32_t>(RandomPurpose::stochastic_rounding);
    }
}

// Optimizer state of the given number of elements.
TensorId state_tensor(ProgramTables& tables,
                      const ParallelPlan& plan,
                      const LayoutAssignment& layouts,
                      std::string name,
                      std::int64_t elements) {
    const KernelCall update = update_of(plan, layouts.state, elements);
    return fp32_tensor(tables,
                       std::move(name),
                       Lifetime::persistent,
                       TensorKind::optimizer,
                       layouts.state.optimizer,
                       elements * optimizer_state_bytes(update) / size_bytes(Dtype::fp32),
                       layouts.state.optimizer_tier);
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
    // Each window of a file has a state of its own.
    if (layouts.state.optimizer_tier != MemoryTier::nvme) {
        out.state = state_tensor(tables, plan, layouts, std::move(state_name), out.elements);
    }
    return out;
}

// The first half of LAMB. Returns the squared norms of each tensor's weight and update, two fp32
// numbers a tensor, whole: partial along the digits that shard a tensor until they are added.
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

void lower_step(SegmentBuilder& b,
                const ParallelPlan& plan,
                const LayoutAssignment& layouts,
                const std::string& state_name,
                const OptimizerOperands& operands) {
    const KernelCall update = update_of(plan, layouts.state, operands.elements);
    if (layouts.state.optimizer_tier != MemoryTier::hbm) {
        const HostUpdate by_host{
            .call = [&](std::int64_t n) { return update_of(plan, layouts.state, n); },
            .state_bytes = optimizer_state_bytes(update),
            .make_state =
                [&, i = 0](std::int64_t n) mutable {
                    return state_tensor(
                        b.tables(), plan, layouts, fmt::format("{} {}", state_name, i++), n);
                }};
        lower_host_update(b, layouts.state, operands, by_host);
        return;
    }
    OpSpec spec{.name = "optimizer",
                .cause = Cause::optimizer,
                .reads = operands.gradients,
                .writes = operands.weights,
                .accumulates = {operands.state}};
    spec.reads.push_back(b.tables().scalars());
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
    OptimizerOperands rest;  // all chunks but the first, which is the last one here
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
    OpSpec spec = spec_of(Cause::optimizer);
    spec.name = "gradient norm";
    spec.reads = gradients;
    spec.writes = {norm};
    b.kernel(gradient_norm(elements, layouts.state.gradient_dtype), spec);
    sum_over_ranks(b, {.digits = digits, .stages = true}, "gradient norm reduce", norm);
    OptimizerSegments out{.norm = b.size() - 1};
    spec = {.name = "gradient clip",
            .cause = Cause::optimizer,
            .reads = {norm, tables.scalars()},
            .writes = {},
            .accumulates = gradients};
    b.kernel(gradient_scale(elements, layouts.state.gradient_dtype), spec);
    const std::string first_name = state_name + (apart ? " of the first chunk" : "");
    lower_step(b, plan, layouts, first_name, first);
    lower_router_states(b, layouts, all);
    out.first = b.finish();
    if (apart) {
        SegmentBuilder others{tables, fmt::format("stage {} optimizer of the rest", stage)};
        lower_step(others, plan, layouts, state_name, rest);
        out.rest = others.finish();
    }
    return out;
}

}  // namespace orrery
