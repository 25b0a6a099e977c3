// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nccl_members.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {
namespace {

// Ids of communicators: of groups from 0, of lines of the mesh (for messages) from kFirstLine. Each
// group, and each digit of the mesh, has kPerGroup ids.
constexpr std::uint32_t kPerGroup = 64;
constexpr std::uint32_t kFirstLine = 1u << 24;

std::vector<std::uint32_t> rank_numbers(const std::vector<RankId>& ranks) {
    std::vector<std::uint32_t> result;
    for (const RankId rank : ranks) {
        result.push_back(static_cast<std::uint32_t>(index(rank)));
    }
    return result;
}

NcclMembers members(std::uint32_t id, std::vector<std::uint32_t> ranks, RankId rank, Mover mover) {
    const auto self = std::ranges::find(ranks, static_cast<std::uint32_t>(index(rank)));
    ORRERY_CHECK(self != ranks.end());
    const auto position = static_cast<std::uint32_t>(self - ranks.begin());
    return {id, std::move(ranks), position, mover};
}

}  // namespace

NcclMembers nccl_members(const Program& program, RankId rank, const CollectiveCall& call) {
    const auto group = static_cast<std::uint32_t>(index(call.group));
    return members(group * kPerGroup + call.communicator,
                   rank_numbers(program.mesh_of(rank).members(program.groups[group], rank)),
                   rank,
                   call.mover);
}

NcclMembers nccl_members(const Program& program, RankId rank, const SendRecvPart& part) {
    std::vector<std::uint32_t> line;
    const std::uint32_t stride = program.mesh_of(rank).stride(part.digit);
    const std::uint32_t first = static_cast<std::uint32_t>(index(rank)) -
                                program.mesh_of(rank).coordinate(rank, part.digit) * stride;
    for (std::uint32_t c = 0; c < program.mesh_of(rank).size(part.digit); ++c) {
        line.push_back(first + c * stride);
    }
    return members(
        kFirstLine + part.digit * kPerGroup + part.communicator, std::move(line), rank, {});
}

std::vector<NcclMembers> communicators_of(const Program& program, RankId rank, const Op& op) {
    std::vector<NcclMembers> all;
    if (op.kind() == OpKind::send_recv) {
        for (const SendRecvPart& part : program.send_recv(op).parts) {
            all.push_back(nccl_members(program, rank, part));
        }
        return all;
    }
    ORRERY_CHECK(op.kind() == OpKind::collective);
    const CollectiveCall& call = program.collective(op);
    if (!program.mesh_of(rank).members(program.groups[index(call.group)], rank).empty()) {
        all.push_back(nccl_members(program, rank, call));
    }
    return all;
}

}  // namespace orrery
