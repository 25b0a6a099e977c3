// SPDX-License-Identifier: Apache-2.0
// Which ranks are in a communicator of NCCL's, and which communicators an op needs: a group of the
// mesh for a collective, a line of it for messages.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"

namespace orrery {

// A communicator: its members are ranks of the Program in ascending order. Equal ids are the same
// communicator, in the same order of creation on every rank.
struct NcclMembers {
    std::uint32_t id = 0;
    std::vector<std::uint32_t> ranks;
    std::uint32_t position = 0;  // of this rank
    Mover mover;
    bool operator==(const NcclMembers&) const = default;
};

NcclMembers nccl_members(const Program& program, RankId rank, const CollectiveCall& call);
// The ranks that differ from this one along the message's digit only.
NcclMembers nccl_members(const Program& program, RankId rank, const SendRecvPart& part);

// All that an op needs; empty if `rank` takes no part.
std::vector<NcclMembers> communicators_of(const Program& program, RankId rank, const Op& op);

}  // namespace orrery
