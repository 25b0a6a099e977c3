// SPDX-License-Identifier: Apache-2.0
// ZeRO 3 / FSDP: where the layouts hold weights as shards, each unit (a layer) is gathered before
// its use, one unit ahead, and its gradients are reduced to shards right after (Zhao et al.,
// PyTorch FSDP, VLDB 2023, section 3.3: prefetch, at most two gathered units alive).
#include "models/chunk_lowering.h"

namespace orrery {
namespace {

Layout placed(const LayoutAssignment& layouts, std::uint32_t axes, AxisPlacement placement) {
    Layout layout(layouts.mesh.axes().size());
    for (std::uint32_t axis = 0; axis < layout.size(); ++axis) {
        if ((axes >> axis & 1u) != 0 && layouts.mesh.size(axis) > 1) {
            layout[axis] = placement;
        }
    }
    return layout;
}

std::int64_t elements_of(const std::vector<Parameter*>& unit) {
    std::int64_t elements = 0;
    for (const Parameter* p : unit) {
        elements += p->elements;
    }
    return elements;
}

TensorId scattered_gradients(BlockBuilder& b, std::int64_t elements) {
    return b.ops.tables().tensor({.name = "gradients scattered",
                                  .parameter = {},
                                  .dtype = b.plan.gradient_dtype,
                                  .kind = TensorKind::communication,
                                  .lifetime = Lifetime::slot,
                                  .global_shape = {elements},
                                  .layout = Layout(b.layouts.mesh.axes().size()),
                                  .bytes = Bytes{elements * size_bytes(b.plan.gradient_dtype)},
                                  .buffer = 0,
                                  .offset = Bytes{}});
}

}  // namespace

void WeightGather::gather(const std::vector<Parameter*>& unit) {
    const LayoutAssignment& layouts = b_.layouts;
    if (layouts.weights == Placement::replicate || unit.empty()) {
        return;
    }
    const Layout whole(layouts.mesh.axes().size());
    for (const LayoutStep& step :
         transition(placed(layouts, layouts.shard_axes, sharded(kInput)), whole)) {
        OpSpec spec{.name = "weights gather",
                    .stream = kDataStream,
                    .cause = Cause::exposed_data,
                    .reads = {},
                    .writes = {},
                    .accumulates = {}};
        for (Parameter* p : unit) {
            spec.reads.push_back(p->stored);
            spec.writes.push_back(p->weight);
        }
        // Called one unit ahead of use (prefetch) or just before it: either way the units before
        // the one in use must have freed their copies.
        if (!ends_.empty()) {
            b_.ops.next_waits_for(ends_.back());
        }
        b_.ops.collective({.kind = step.kind,
                           .group = b_.ops.tables().group(step.axes),
                           .bytes = Bytes{elements_of(unit) * size_bytes(b_.activation_dtype())},
                           .wire = b_.activation_dtype(),
                           .communicator = 0},
                          spec);
    }
}

void WeightGather::used() {
    ends_.push_back(b_.ops.size() - 1);
}

void scatter_gradients(BlockBuilder& b, const std::vector<Parameter*>& unit) {
    const LayoutAssignment& layouts = b.layouts;
    if (layouts.weights == Placement::replicate || unit.empty()) {
        return;
    }
    const Layout from = placed(layouts, layouts.data_axes, partial());
    const Layout to = placed(layouts, layouts.shard_axes, sharded(kInput));
    std::int64_t elements = elements_of(unit);
    std::vector<TensorId> source;
    std::vector<TensorId> shards;
    for (const Parameter* p : unit) {
        source.push_back(p->gradient);
        shards.push_back(p->gradient_shard);
    }
    const std::vector<LayoutStep> steps = transition(from, to);
    for (const LayoutStep& step : steps) {
        OpSpec spec{.name = "gradients scatter",
                    .stream = kDataStream,
                    .cause = Cause::exposed_data,
                    .reads = source,
                    .writes = {},
                    .accumulates = {}};
        if (step == steps.back()) {
            spec.accumulates = shards;
        } else {  // this micro-batch's shard, before it is reduced over the copies of the model
            source = {scattered_gradients(b, elements / layouts.axes_size(step.axes))};
            spec.writes = source;
        }
        b.ops.collective({.kind = step.kind,
                          .group = b.ops.tables().group(step.axes),
                          .bytes = Bytes{elements * size_bytes(b.plan.gradient_dtype)},
                          .wire = b.plan.gradient_dtype,
                          .communicator = 0},
                         spec);
        if (step.kind == CollectiveKind::reduce_scatter) {
            elements = (elements + layouts.axes_size(step.axes) - 1) / layouts.axes_size(step.axes);
        }
    }
    if (!b.plan.overlap_grad_reduce) {
        b.ops.next_waits_for(b.ops.size() - 1);
    }
}

}  // namespace orrery
