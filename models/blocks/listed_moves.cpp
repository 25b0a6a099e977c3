// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/listed_moves.h"

#include <string>
#include <string_view>
#include <utility>

#include "kernels/cast/cast.h"
#include "kernels/device_spec.h"
#include "kernels/optimizer/optimizer.h"

namespace orrery {
namespace {

OpSpec list_op(std::string_view name) {
    return {.name = std::string{name}, .reads = {}, .writes = {}, .accumulates = {}};
}

void host_op(BlockBuilder& b, std::string_view name, Time duration) {
    OpSpec spec = list_op(name);
    spec.cause = Cause::host;
    spec.launches = 0;
    b.ops.host({.duration = duration}, spec);
}

// The host makes a view of each rank's part and copies it, in a loop of four operators. For a
// gather these are get_rank and narrow (partition_parameters.py), select and copy_
// (ProcessGroupNCCL.cpp); for a reduction view, narrow, select and copy_.
void loop_over_parts(BlockBuilder& b, std::string_view name, std::int64_t ranks) {
    constexpr std::int64_t kOperators = 4;
    host_op(b, name, kEagerOperator * (kOperators * ranks));
}

void pass_over(BlockBuilder& b,
               std::string_view name,
               const KernelCall& call,
               std::vector<TensorId> tensors) {
    OpSpec spec = list_op(name);
    spec.accumulates = std::move(tensors);
    b.ops.kernel(call, spec);
}

}  // namespace

bool moves_lists(const BlockBuilder& b) {
    return b.plan.fsdp_copy_out && b.plan.fsdp_unit_layers == 0;
}

bool stays_whole(const BlockBuilder& b, const Parameter& p) {
    constexpr std::int64_t kPersistentElements = 100'000;
    return moves_lists(b) && p.elements < kPersistentElements;
}

// torch.zeros makes the gathered tensor: it writes what a copy of half the elements moves.
void list_weights(BlockBuilder& b, const ParameterSet& parameters, const MovedList& list) {
    const Dtype dtype = b.layouts.state.weight_dtype;
    std::vector<TensorId> weights;
    for (const Parameter* p : parameters) {
        weights.push_back(p->weight);
    }
    pass_over(b, "weights zeros", cast(list.elements / 2, dtype, dtype), std::move(weights));
    loop_over_parts(b, "weights in parts", list.ranks);
}

// Gradients are divided by the number of ranks (stage3.py, average_tensor), and the list is copied
// into one tensor (ProcessGroupNCCL.cpp, flatten_for_scatter_gather).
void list_gradients(BlockBuilder& b, const ParameterSet& parameters, const MovedList& list) {
    const Dtype dtype = b.layouts.state.gradient_dtype;
    std::vector<TensorId> gradients;
    for (const Parameter* p : parameters) {
        gradients.push_back(p->gradient);
    }
    pass_over(b, "gradients averaged", gradient_scale(list.elements, dtype), gradients);
    loop_over_parts(b, "gradients in parts", list.ranks);
    pass_over(b, "gradients copy in", cast(list.elements, dtype, dtype), std::move(gradients));
}

void wait_for_list(BlockBuilder& b) {
    b.ops.next_waits_for(b.ops.size() - 1);
    host_op(b, "synchronise", Time{});
}

}  // namespace orrery
