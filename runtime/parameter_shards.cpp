// SPDX-License-Identifier: Apache-2.0
#include "runtime/parameter_shards.h"

#include <algorithm>

namespace orrery {

ElementRange shard_range(std::int64_t elements, std::int64_t parts, std::int64_t position) {
    const std::int64_t part = (elements + parts - 1) / parts;
    const std::int64_t first = std::min(elements, position * part);
    return {first, std::min(part, elements - first)};
}

ParameterShards::ParameterShards(const Program& program, RankId rank) : program_(program) {
    for (const Slot& slot : program.roles[index(program.role_of(rank))].slots) {
        if (slot.pass != Pass::parameter_sync) {
            continue;
        }
        for (const Op& op : program.segment_of(slot).ops) {
            if (op.kind != OpKind::collective) {
                continue;
            }
            const Group& group = program.groups[index(program.collectives[op.payload].group)];
            const std::vector<RankId> members = program.mesh.members(group, rank);
            const auto self = std::ranges::find(members, rank);
            const Place place{static_cast<std::int64_t>(members.size()), self - members.begin()};
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                places_[program.operands[op.first_operand + i].tensor] = place;
            }
        }
    }
}

ElementRange ParameterShards::own(TensorId weight) const {
    const Tensor& tensor = program_.tensors[index(weight)];
    const std::int64_t elements = tensor.bytes.count() / size_bytes(tensor.dtype);
    const auto place = places_.find(weight);
    return place == places_.end()
               ? ElementRange{0, elements}
               : shard_range(elements, place->second.parts, place->second.position);
}

}  // namespace orrery
