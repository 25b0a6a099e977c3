// SPDX-License-Identifier: Apache-2.0
#include "models/layout_assignment.h"

#include "models/rank_mesh.h"

namespace orrery {
namespace {

// Axes of size one hold everything anyway: leaving them replicated keeps empty groups away.
void set(Layout& layout, const Mesh& mesh, std::uint32_t axis, AxisPlacement placement) {
    if (mesh.size(axis) > 1) {
        layout[axis] = placement;
    }
}

// The ranks of a key-value head are a digit of the tensor-parallel axis, or, of the only head, all
// of it.
std::uint32_t axis_of_head(const Mesh& mesh) {
    return mesh.axes().front().low_digit ? 0 : mesh.axis("tp");
}

}  // namespace

std::int64_t LayoutAssignment::axes_size(std::uint32_t axes) const {
    std::int64_t size = 1;
    for (std::uint32_t a = 0; a < mesh.axes().size(); ++a) {
        if ((axes >> a & 1u) != 0) {
            size *= mesh.size(a);
        }
    }
    return size;
}

std::int64_t LayoutAssignment::shard_ranks() const {
    return axes_size(shard_axes);
}

LayoutAssignment assign_layouts(const ParallelPlan& plan, std::int64_t ranks_of_head) {
    LayoutAssignment a;
    a.mesh = rank_mesh(plan, ranks_of_head);
    a.ranks_of_head = ranks_of_head;
    const Mesh& mesh = a.mesh;
    const std::uint32_t tp = mesh.axis("tp");
    const std::uint32_t of_head = axis_of_head(mesh);
    const auto set_tensor = [&](Layout& layout, AxisPlacement placement) {
        set(layout, mesh, tp, placement);
        set(layout, mesh, of_head, placement);
    };
    const std::uint32_t cp = mesh.axis("cp");
    const std::uint32_t dp = mesh.axis("dp");
    a.pipeline_axis = mesh.axis("pp");
    a.chunks = static_cast<std::int32_t>(plan.virtual_pipeline_model_parallel_size);
    a.context_axis = cp;
    const Layout nothing(mesh.axes().size());

    a.tokens = nothing;
    a.data_axes = 1u << cp | 1u << dp;
    a.shard_axes = a.data_axes;
    for (std::uint32_t axis = 0; axis < mesh.axes().size(); ++axis) {
        if (mesh.axes()[axis].name == "dpr") {  // replicates shard groups (hybrid sharding)
            set(a.tokens, mesh, axis, sharded(kBatch));
            a.data_axes |= 1u << axis;
        }
    }
    set(a.tokens, mesh, dp, sharded(kBatch));
    // A ring's blocks are balanced; a head exchange gathers the sequence, in its order.
    const bool ring = plan.context_parallel_comm == ContextParallelComm::ring;
    set(a.tokens, mesh, cp, ring ? sharded_mirrored(kSequence) : sharded(kSequence));

    a.residual = a.tokens;
    if (plan.sequence_parallel) {
        set_tensor(a.residual, sharded(kSequence));
    }
    a.pipeline = a.residual;
    if (plan.scatter_gather_tensors_in_pipeline) {
        set_tensor(a.pipeline, sharded(kSequence));
    }
    a.query = a.tokens;
    set_tensor(a.query, sharded(kWidth));
    a.key_value = a.query;
    if (!ring) {
        set(a.query, mesh, cp, sharded(kWidth));
        a.key_value = a.query;
    } else {
        set(a.key_value, mesh, cp, replicated());
        a.stream_key_value = mesh.size(cp) > 1;
    }
    if (ranks_of_head > 1) {
        set(a.key_value, mesh, of_head, replicated());
    }

    a.column_weight = a.row_weight = a.vector_weight = a.embedding = nothing;
    set_tensor(a.column_weight, sharded(kOutput));
    set_tensor(a.row_weight, sharded(kInput));
    set_tensor(a.embedding, sharded(kInput));

    const auto held = [&](ShardingStrategy from) {
        const bool shards = plan.data_parallel_sharding_strategy >= from && a.shard_ranks() > 1;
        return shards ? Placement::shard : Placement::replicate;
    };
    a.optimizer = held(ShardingStrategy::optim);
    // The distributed optimizer reduce-scatters gradients from stage 1 on; what stage 2 adds is
    // that the whole gradient is not kept: that is a lifetime, see memory.h.
    a.gradients = held(ShardingStrategy::optim);
    a.weights = held(ShardingStrategy::optim_grads_params);
    return a;
}

}  // namespace orrery
