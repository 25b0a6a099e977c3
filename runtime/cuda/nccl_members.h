// SPDX-License-Identifier: Apache-2.0
// The members of NCCL communicators, and the communicators that an op needs: a group of the mesh
// for a collective, a line of the mesh for messages.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"

namespace orrery {

// A communicator. Its members are ranks of the Program in ascending order. Equal ids mean the same
// communicator. Every rank creates communicators in the same order.
struct NcclMembers {
    std::uint32_t id = 0;
    std::vector<std::uint32_t> ranks;
    std::uint32_t position = 0;  // of this rank
    Mover mover;
    bool operator==(const NcclMembers&) const = default;
};

NcclMembers nccl_members(const Program& program, RankId rank, const CollectiveCall& call);
// The ranks that differ from this one only along the message's digit.
NcclMembers nccl_members(const Program& program, RankId rank, const SendRecvPart& part);

// All communicators of an op; empty if `rank` takes no part.
std::vector<NcclMembers> communicators_of(const Program& program, RankId rank, const Op& op);

}  // namespace orrery
