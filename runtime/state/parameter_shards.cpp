// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/parameter_shards.h"

#include <algorithm>

#include "runtime/operand_lists.h"

namespace orrery {

ElementRange shard_range(std::int64_t elements, std::int64_t parts, std::int64_t position) {
    const std::int64_t part = (elements + parts - 1) / parts;
    const std::int64_t first = std::min(elements, position * part);
    return {first, std::min(part, elements - first)};
}

namespace {

// A parameter's part that persists, to be gathered before use.
bool is_shard(const Tensor& tensor) {
    return tensor.kind == TensorKind::weights && !tensor.parameter.empty();
}

bool is_optimizer(const KernelCall& call) {
    return call.kind == KernelKind::adamw || call.kind == KernelKind::lamb;
}

}  // namespace

ParameterShards::ParameterShards(const Program& program, RankId rank) : program_(program) {
    const Role& role = program.roles[index(program.role_of(rank))];
    find_gathers(role, rank);
    find_gradients(role, rank);
}

void ParameterShards::find_gathers(const Role& role, RankId rank) {
    for (const Slot& slot : role.slots) {
        for (const Op& op : program_.segment_of(slot).ops) {
            const OperandLists lists = operands_of(program_, op);
            const bool shards = op.kind() == OpKind::collective && !lists.reads.empty() &&
                                is_shard(program_.tensors[index(lists.reads[0])]);
            const bool gathers =
                op.kind() == OpKind::collective && slot.pass == Pass::parameter_sync;
            if (!shards && !gathers) {
                continue;
            }
            const Group& group = program_.groups[index(program_.collective(op).group)];
            const std::vector<RankId> members = program_.mesh().members(group, rank);
            const auto self = std::ranges::find(members, rank);
            const Place place{static_cast<std::int64_t>(members.size()), self - members.begin()};
            gather_axes_ |= group.axes;
            for (std::size_t i = 0; i < lists.writes.size(); ++i) {
                if (shards) {
                    stored_[lists.reads[i]] = place;
                    whole_of_[lists.reads[i]] = lists.writes[i];
                } else {
                    places_[lists.writes[i]] = place;
                }
            }
        }
    }
}

// The optimizer pairs gradients with weights; the collective after the norm tells who adds it up;
// one over a subset of stages that sums a gradient is the tied embedding's.
void ParameterShards::find_gradients(const Role& role, RankId rank) {
    std::vector<std::pair<TensorId, TensorId>> pairs;  // gradient, weight
    std::uint32_t norm_axes = 0;
    for (const Slot& slot : role.slots) {
        for (const Op& op : program_.segment_of(slot).ops) {
            const OperandLists lists = operands_of(program_, op);
            if (op.kind() == OpKind::collective && slot.pass == Pass::optimizer) {
                // That of the norm comes first, and spans all axes of any other.
                norm_axes = norm_axes != 0
                                ? norm_axes
                                : program_.groups[index(program_.collective(op).group)].axes;
            } else if (op.kind() == OpKind::collective && slot.pass == Pass::gradient_sync) {
                const Group& group = program_.groups[index(program_.collective(op).group)];
                const bool copy =
                    !group.subset.empty() &&
                    program_.mesh().coordinate(rank, group.subset_axis) != group.subset.front();
                copies_.insert(copies_.end(),
                               lists.accumulates.begin(),
                               copy ? lists.accumulates.end() : lists.accumulates.begin());
            } else if (op.kind() == OpKind::kernel && is_optimizer(program_.kernel(op))) {
                for (std::size_t i = 0; i < lists.writes.size(); ++i) {
                    pairs.emplace_back(lists.reads[i], lists.writes[i]);
                }
            }
        }
    }
    for (const auto& [gradient, weight] : pairs) {
        if (const auto place = places_.find(weight); place != places_.end()) {
            places_[gradient] = place->second;
        }
        if (!counts(program_.tensors[index(weight)], rank, norm_axes)) {
            copies_.push_back(gradient);
        }
    }
}

bool ParameterShards::counts(const Tensor& weight, RankId rank, std::uint32_t axes) const {
    for (std::uint32_t axis = 0; axis < weight.layout.size(); ++axis) {
        const bool copied = (axes >> axis & 1u) != 0 && axis != program_.role_axis() &&
                            (gather_axes_ >> axis & 1u) == 0 &&
                            weight.layout[axis].placement != Placement::shard;
        if (copied && program_.mesh().coordinate(rank, axis) != 0) {
            return false;
        }
    }
    return true;
}

ElementRange ParameterShards::own(TensorId id) const {
    const Tensor& tensor = program_.tensors[index(id)];
    const std::int64_t elements = tensor.bytes.count() / size_bytes(tensor.dtype);
    const auto place = places_.find(id);
    return place == places_.end()
               ? ElementRange{0, elements}
               : shard_range(elements, place->second.parts, place->second.position);
}

ElementRange ParameterShards::stored(TensorId weight) const {
    const auto place = stored_.find(weight);
    if (place == stored_.end()) {
        const Tensor& tensor = program_.tensors[index(weight)];
        return {0, tensor.bytes.count() / size_bytes(tensor.dtype)};
    }
    const Tensor& whole = program_.tensors[index(whole_of_.at(weight))];
    return shard_range(
        whole.bytes.count() / size_bytes(whole.dtype), place->second.parts, place->second.position);
}

ElementRange ParameterShards::own_in_norm(TensorId gradient) const {
    const bool copy = std::ranges::find(copies_, gradient) != copies_.end();
    return copy ? ElementRange{} : own(gradient);
}

}  // namespace orrery
