// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/parameter_shards.h"

#include <algorithm>

#include "models/plan/layout.h"
#include "runtime/operand_lists.h"

namespace orrery {

ElementRange shard_range(std::int64_t elements, std::int64_t parts, std::int64_t position) {
    const std::int64_t part = (elements + parts - 1) / parts;
    const std::int64_t first = std::min(elements, position * part);
    return {first, std::min(part, elements - first)};
}

namespace {

ElementRange part_of(const Mesh& mesh, RankId rank, const Layout& layout, std::int64_t elements) {
    const std::uint32_t digits = digits_with(layout, Placement::flat);
    return shard_range(
        elements, mesh.combined_size(digits), mesh.combined_coordinate(rank, digits));
}

const Layout& step_layout_of(const Tensor& tensor) {
    return tensor.step_layout.empty() ? tensor.layout : tensor.step_layout;
}

}  // namespace

ParameterShards::ParameterShards(const Program& program, RankId rank)
    : program_(program), rank_(rank) {
    for (const Slot& slot : program.roles[index(program.role_of(rank))].slots) {
        for (const Op& op : program.segment_of(slot).ops) {
            if (op.kind() == OpKind::kernel &&
                program.kernel(op).kind == KernelKind::gradient_norm) {
                const TensorId norm = operands_of(program, op).writes.front();
                norm_digits_ = digits_with(program.tensors[index(norm)].layout, Placement::partial);
            }
        }
    }
}

bool ParameterShards::counts(const Tensor& tensor, RankId rank, std::uint32_t digits) const {
    const Layout& layout = step_layout_of(tensor);
    for (std::uint32_t digit = 0; digit < layout.size(); ++digit) {
        const bool copied = (digits >> digit & 1u) != 0 &&
                            digit != program_.parties[program_.party_of(rank)].role_digit &&
                            layout[digit] == replicated();
        if (copied && program_.mesh_of(rank).coordinate(rank, digit) != 0) {
            return false;
        }
    }
    return true;
}

ElementRange ParameterShards::own(TensorId id) const {
    const Tensor& tensor = program_.tensors[index(id)];
    const std::int64_t elements = tensor.bytes.count() / size_bytes(tensor.dtype);
    return part_of(program_.mesh_of(rank_), rank_, tensor.step_layout, elements);
}

ElementRange ParameterShards::stored(const Tensor& tensor) const {
    Layout whole = tensor.layout;
    std::ranges::replace(whole, flat(), replicated());
    const std::int64_t elements =
        digits_with(tensor.layout, Placement::flat) == 0
            ? tensor.bytes.count() / size_bytes(tensor.dtype)
            : local_elements(tensor.global_shape, whole, program_.mesh_of(rank_));
    return part_of(program_.mesh_of(rank_), rank_, tensor.layout, elements);
}

// Stages are lowered in order, so that the first tensor of a parameter is on the first of its
// stages.
bool ParameterShards::is_copy(const Tensor& gradient) const {
    const auto first = std::ranges::find_if(program_.tensors, [&](const Tensor& tensor) {
        return tensor.kind == gradient.kind && tensor.lifetime == gradient.lifetime &&
               tensor.parameter == gradient.parameter;
    });
    return &*first != &gradient;
}

ElementRange ParameterShards::own_in_norm(TensorId id) const {
    const Tensor& gradient = program_.tensors[index(id)];
    const bool counted = counts(gradient, rank_, norm_digits_) && !is_copy(gradient);
    return counted ? own(id) : ElementRange{};
}

}  // namespace orrery
