// SPDX-License-Identifier: Apache-2.0
#include "models/gradient_sync.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/optimizer/optimizer.h"
#include "kernels/random.h"

namespace orrery {
namespace {

// Megatron-LM's bucket size when the reduction overlaps: max(40M, 1M * data-parallel size).
constexpr std::int64_t kBucketElementsMin = 40'000'000;
constexpr std::int64_t kBucketElementsPerRank = 1'000'000;

Layout along(const LayoutAssignment& layouts, std::uint32_t axes, AxisPlacement placement) {
    Layout layout(layouts.mesh.axes().size());
    for (std::uint32_t axis = 0; axis < layout.size(); ++axis) {
        if ((axes >> axis & 1u) != 0 && layouts.mesh.size(axis) > 1) {
            layout[axis] = placement;
        }
    }
    return layout;
}

AxisPlacement placed(Placement placement) {
    return placement == Placement::shard ? sharded(kInput) : replicated();
}

std::int64_t shard_of(std::int64_t elements, std::int64_t ranks) {
    return (elements + ranks - 1) / ranks;
}

// Axes outside the data axes along which some gradients are partial sums: norms under sequence
// parallelism.
std::uint32_t model_partial_axes(const Parameter& p, const LayoutAssignment& layouts) {
    std::uint32_t axes = 0;
    for (std::uint32_t axis = 0; axis < p.gradient_layout.size(); ++axis) {
        if (p.gradient_layout[axis] == partial() && (layouts.data_axes >> axis & 1u) == 0) {
            axes |= 1u << axis;
        }
    }
    return axes;
}

// Gradients of norms travel over the tensor-parallel group beside its activations: on a
// communicator of their own, so that neither has to wait for its turn.
constexpr std::uint16_t kNormGradientCommunicator = 2;

class SyncBuilder {
public:
    SyncBuilder(ProgramTables& tables, const LayoutAssignment& layouts, std::string name)
        : tables_(tables), layouts_(layouts), ops_(tables, std::move(name)) {}

    SegmentBuilder& ops() { return ops_; }

    // The collectives from one layout of a flat vector to another. Returns the local elements.
    std::int64_t move(std::string_view name,
                      const Layout& from,
                      const Layout& to,
                      std::int64_t elements,
                      Dtype dtype,
                      const OpSpec& spec) {
        for (const LayoutStep& step : transition(from, to)) {
            const std::int64_t ranks = layouts_.axes_size(step.axes);
            if (step.kind == CollectiveKind::all_gather) {
                elements *= ranks;
            }
            OpSpec op = spec;
            op.name = std::string{name};
            op.stream = kDataStream;
            ops_.collective({.kind = step.kind,
                             .group = tables_.group(step.axes),
                             .bytes = Bytes{elements * size_bytes(dtype)},
                             .wire = dtype,
                             .communicator = communicator_of(step.axes)},
                            op);
            if (step.kind == CollectiveKind::reduce_scatter) {
                elements = shard_of(elements, ranks);
            }
        }
        return elements;
    }

private:
    std::uint16_t communicator_of(std::uint32_t axes) const {
        return (axes & layouts_.data_axes) != 0 ? std::uint16_t{0} : kNormGradientCommunicator;
    }

    ProgramTables& tables_;
    const LayoutAssignment& layouts_;
    SegmentBuilder ops_;
};

}  // namespace

std::vector<Bucket> make_buckets(Chunk& chunk,
                                 const ParallelPlan& plan,
                                 const LayoutAssignment& layouts) {
    const bool overlaps = plan.overlap_grad_reduce || plan.overlap_param_gather;
    std::int64_t size = plan.ddp_bucket_size;
    if (size == 0) {
        size = std::max(kBucketElementsMin,
                        kBucketElementsPerRank * layouts.axes_size(layouts.data_axes));
    }
    std::vector<Parameter*> order = chunk.parameters();
    std::reverse(order.begin(), order.end());
    std::vector<Bucket> buckets;
    for (Parameter* p : order) {
        if (buckets.empty() || (overlaps && buckets.back().elements >= size)) {
            buckets.emplace_back();
        }
        buckets.back().parameters.push_back(p);
        buckets.back().elements += p->elements;
    }
    return buckets;
}

namespace {

Dtype weight_dtype_of(const ParallelPlan& plan) {
    return plan.precision == Dtype::fp8 ? Dtype::bf16 : plan.precision;
}

MasterCopy master_copy_of(const ParallelPlan& plan) {
    return plan.main_params_dtype == Dtype::fp32 ? MasterCopy::fp32 : MasterCopy::none;
}

OpSpec spec_of(Cause cause) {
    return {.name = {}, .cause = cause, .reads = {}, .writes = {}, .accumulates = {}};
}

void reduce_gradients(SyncBuilder& sync,
                      const std::vector<Bucket>& buckets,
                      const ParallelPlan& plan,
                      const LayoutAssignment& layouts) {
    const Layout shards = along(layouts, layouts.shard_axes, placed(layouts.gradients));
    const Layout partials = along(layouts, layouts.data_axes, partial());
    for (const Bucket& bucket : buckets) {
        OpSpec spec = spec_of(Cause::exposed_data);
        for (const Parameter* p : bucket.parameters) {
            spec.accumulates.push_back(p->gradient);
        }
        sync.move("gradient reduce", partials, shards, bucket.elements, plan.gradient_dtype, spec);
    }
}

void gather_parameters(SyncBuilder& sync,
                       const std::vector<Bucket>& buckets,
                       const ParallelPlan& plan,
                       const LayoutAssignment& layouts) {
    const Layout state = along(layouts, layouts.shard_axes, placed(layouts.optimizer));
    const Layout whole(layouts.mesh.axes().size());
    const std::int64_t ranks = layouts.optimizer == Placement::shard ? layouts.shard_ranks() : 1;
    for (const Bucket& bucket : buckets) {
        OpSpec spec = spec_of(Cause::exposed_data);
        for (const Parameter* p : bucket.parameters) {
            spec.writes.push_back(p->weight);
        }
        sync.move("parameter gather",
                  state,
                  whole,
                  shard_of(bucket.elements, ranks),
                  weight_dtype_of(plan),
                  spec);
    }
}

// Norms and biases of which every rank of the sequence-parallel group saw a part. It stands after
// the buckets on their stream, as in Megatron-LM's finalize_model_grads: it has to wait for the
// chunk's first layer, and they must not.
void reduce_model_partials(SyncBuilder& sync,
                           Chunk& chunk,
                           const ParallelPlan& plan,
                           const LayoutAssignment& layouts) {
    const std::int64_t ranks = layouts.weights == Placement::shard ? layouts.shard_ranks() : 1;
    std::int64_t elements = 0;
    std::uint32_t axes = 0;
    OpSpec spec = spec_of(Cause::exposed_tensor);
    for (const Parameter* p : chunk.parameters()) {
        const std::uint32_t partial_axes = model_partial_axes(*p, layouts);
        if (partial_axes != 0) {
            axes |= partial_axes;
            elements += shard_of(p->elements, ranks);
            spec.accumulates.push_back(p->gradient_shard);
        }
    }
    sync.move("sequence-parallel gradient reduce",
              along(layouts, axes, partial()),
              Layout(layouts.mesh.axes().size()),
              elements,
              plan.gradient_dtype,
              spec);
}

}  // namespace

SyncSegments lower_sync(ProgramTables& tables,
                        const Transformer&,
                        const ParallelPlan& plan,
                        const LayoutAssignment& layouts,
                        Chunk& chunk) {
    SyncSegments result;
    const std::string where =
        fmt::format("stage {} chunk {} ", chunk.shape.stage, chunk.shape.chunk);
    SyncBuilder gradients{tables, layouts, where + "gradient sync"};
    SyncBuilder parameters{tables, layouts, where + "parameter sync"};
    if (layouts.weights == Placement::replicate) {  // ZeRO 3 reduces and gathers by layer instead
        std::vector<Bucket> buckets = make_buckets(chunk, plan, layouts);
        reduce_gradients(gradients, buckets, plan, layouts);
        // The forward pass needs the first layers first.
        std::reverse(buckets.begin(), buckets.end());
        gather_parameters(parameters, buckets, plan, layouts);
    }
    reduce_model_partials(gradients, chunk, plan, layouts);
    if (gradients.ops().size() > 0) {
        result.gradients = gradients.ops().finish();
    }
    if (parameters.ops().size() > 0) {
        result.parameters = parameters.ops().finish();
    }
    return result;
}

SegmentId lower_tied_embedding_sync(ProgramTables& tables,
                                    const Transformer&,
                                    const ParallelPlan& plan,
                                    const LayoutAssignment& layouts,
                                    const Chunk& chunk) {
    const Parameter& copy = chunk.shape.has_embedding ? chunk.embedding : chunk.output;
    SegmentBuilder b{tables, "tied embedding gradient"};
    const std::uint32_t last = layouts.mesh.size(layouts.pipeline_axis) - 1;
    b.collective({.kind = CollectiveKind::all_reduce,
                  .group = tables.group(layouts.pipeline_axis, {0u, last}),
                  // All of it even where each data rank has reduced only its shard (as Megatron-LM
                  // does), unless no more than the shard persists.
                  .bytes = tables.program().tensors[index(copy.gradient_shard)].bytes,
                  .wire = plan.gradient_dtype,
                  .communicator = 0},
                 {.name = "tied embedding gradient reduce",
                  .stream = kDataStream,
                  .cause = Cause::exposed_other,
                  .reads = {},
                  .writes = {},
                  .accumulates = {copy.gradient_shard}});
    return b.finish();
}

namespace {

// A tensor of the step's end that belongs to no single parameter.
TensorId fp32_tensor(ProgramTables& tables,
                     const LayoutAssignment& layouts,
                     std::string name,
                     Lifetime lifetime,
                     TensorKind kind,
                     Bytes bytes) {
    return tables.tensor({.name = std::move(name),
                          .parameter = {},
                          .dtype = Dtype::fp32,
                          .kind = kind,
                          .lifetime = lifetime,
                          .global_shape = {},
                          .layout = Layout(layouts.mesh.axes().size()),
                          .bytes = bytes});
}

// The axes whose ranks hold other gradients: each adds its part of the norm.
std::uint32_t gradient_norm_axes(const LayoutAssignment& layouts) {
    std::uint32_t axes = 0;
    for (std::uint32_t axis = 0; axis < layouts.mesh.axes().size(); ++axis) {
        const bool replicates =
            (layouts.data_axes >> axis & 1u) != 0 &&
            (layouts.optimizer != Placement::shard || (layouts.shard_axes >> axis & 1u) == 0);
        if (layouts.mesh.size(axis) > 1 && !replicates) {
            axes |= 1u << axis;
        }
    }
    return axes;
}

// The sum over the ranks along these axes of what each has in an fp32 tensor.
void add_over_ranks(SegmentBuilder& b, std::uint32_t axes, std::string name, TensorId tensor) {
    if (axes == 0) {
        return;
    }
    b.collective({.kind = CollectiveKind::all_reduce,
                  .group = b.tables().group(axes),
                  .bytes = b.tables().program().tensors[index(tensor)].bytes,
                  .wire = Dtype::fp32,
                  .communicator = 1},
                 {.name = std::move(name),
                  .stream = kDataStream,
                  .cause = Cause::exposed_other,
                  .reads = {},
                  .writes = {},
                  .accumulates = {tensor}});
}

KernelCall update_of(const ParallelPlan& plan, std::int64_t elements) {
    const auto update = plan.optimizer == Optimizer::lamb ? lamb : adamw;
    return update(elements, weight_dtype_of(plan), plan.gradient_dtype, master_copy_of(plan));
}

void round_stochastically(ProgramTables& tables, const std::vector<TensorId>& weights) {
    for (const TensorId weight : weights) {
        tables.program().tensors[index(weight)].random_purpose =
            static_cast<std::int32_t>(RandomPurpose::stochastic_rounding);
    }
}

struct OptimizerOperands {
    std::int64_t elements;
    const std::vector<TensorId>& gradients;
    const std::vector<TensorId>& weights;
    TensorId state;
};

// The first half of LAMB. Returns the squared norms of each tensor's weight and update, two fp32
// numbers a tensor, whole: partial along the axes that shard a tensor until they are added.
TensorId lower_lamb_update(SegmentBuilder& b,
                           const ParallelPlan& plan,
                           const LayoutAssignment& layouts,
                           const OptimizerOperands& operands) {
    ProgramTables& tables = b.tables();
    const std::uint32_t axes = gradient_norm_axes(layouts) & ~(1u << layouts.pipeline_axis);
    const Bytes bytes{static_cast<std::int64_t>(operands.gradients.size()) * 2 *
                      size_bytes(Dtype::fp32)};
    const TensorId norms = fp32_tensor(
        tables, layouts, "trust ratio norms", Lifetime::step, TensorKind::workspace, bytes);
    tables.program().tensors[index(norms)].layout = along(layouts, axes, partial());
    OpSpec spec{.name = "optimizer update",
                .cause = Cause::optimizer,
                .reads = operands.weights,
                .writes = {norms},
                .accumulates = operands.gradients};
    spec.reads.push_back(tables.scalars());
    spec.accumulates.push_back(operands.state);
    b.kernel(
        lamb_update(
            operands.elements, weight_dtype_of(plan), plan.gradient_dtype, master_copy_of(plan)),
        spec);
    add_over_ranks(b, axes, "trust ratio reduce", norms);
    return norms;
}

}  // namespace

SegmentId lower_optimizer(ProgramTables& tables,
                          const Transformer&,
                          const ParallelPlan& plan,
                          const LayoutAssignment& layouts,
                          std::int32_t stage,
                          const std::vector<Chunk*>& chunks) {
    SegmentBuilder b{tables, fmt::format("stage {} optimizer", stage)};
    const std::int64_t ranks = layouts.optimizer == Placement::shard ? layouts.shard_ranks() : 1;
    std::int64_t elements = 0;
    OpSpec spec = spec_of(Cause::optimizer);
    spec.name = "gradient norm";
    std::vector<TensorId> weights;
    std::vector<TensorId> gradients;
    for (Chunk* chunk : chunks) {
        for (const Parameter* p : chunk->parameters()) {
            elements += shard_of(p->elements, ranks);
            gradients.push_back(p->gradient_shard);
            weights.push_back(p->stored);
        }
    }
    if (plan.bf16_stochastic_round) {
        round_stochastically(tables, weights);
    }
    const KernelCall update = update_of(plan, elements);
    const TensorId state =
        fp32_tensor(tables,
                    layouts,
                    fmt::format("stage {} optimizer state", stage),
                    Lifetime::persistent,
                    TensorKind::optimizer,
                    Bytes{elements * optimizer_states(update) * size_bytes(Dtype::fp32)});
    const TensorId norm = fp32_tensor(
        tables, layouts, "gradient norm", Lifetime::step, TensorKind::workspace, Bytes{4});
    spec.reads = gradients;
    spec.writes = {norm};
    b.kernel(gradient_norm(elements, plan.gradient_dtype), spec);
    add_over_ranks(b, gradient_norm_axes(layouts), "gradient norm reduce", norm);
    spec = {.name = "gradient clip",
            .cause = Cause::optimizer,
            .reads = {norm, tables.scalars()},
            .writes = {},
            .accumulates = gradients};
    b.kernel(gradient_scale(elements, plan.gradient_dtype), spec);
    spec = {.name = "optimizer",
            .cause = Cause::optimizer,
            .reads = gradients,
            .writes = weights,
            .accumulates = {state}};
    spec.reads.push_back(tables.scalars());
    if (plan.optimizer == Optimizer::lamb) {
        spec.reads.push_back(
            lower_lamb_update(b, plan, layouts, {elements, gradients, weights, state}));
    }
    b.kernel(update, spec);
    return b.finish();
}

}  // namespace orrery
