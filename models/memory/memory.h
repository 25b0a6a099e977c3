// SPDX-License-Identifier: Apache-2.0
// Figures of a role's memory plan: the allocated bytes, the bytes in use over time, and their
// kinds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "models/memory/memory_plan.h"

namespace orrery {

struct LargeBuffer {
    std::string name;
    TensorKind kind = TensorKind::activations;
    Bytes bytes;  // all copies together
    std::int64_t copies = 1;
};

struct RoleMemory {
    RoleId role{};
    Bytes peak;  // MemoryPlan::bytes() and the workspace
    // The most bytes that tensors and workspace use at one time. `peak` is larger by the gaps that
    // packing leaves.
    Bytes in_use;
    MemoryByKind at_peak;  // the kinds of `in_use`, which they add up to
    // The slot in which most is in use.
    std::uint32_t slot = 0;
    std::vector<LargeBuffer> largest;   // in use in that slot, largest first
    std::vector<MemoryByKind> by_slot;  // the peak of each slot
};

// All ranks of a role need the same. `workspace` (library workspaces) is added to each role.
RoleMemory role_memory(const Program& program, RoleId role, Bytes workspace);

// The most bytes that a rank of any role allocates for tensors, without a workspace.
Bytes largest_plan(const Program& program);

// The peak bytes of a role's tensors in the memory of its host.
Bytes host_bytes(const Program& program, RoleId role);

// The bytes of a role's tensors on its host's drives.
Bytes file_bytes(const Program& program, RoleId role);

// The largest tensor of a role in this tier. Its `bytes` are 0 if the role has no tensor there.
LargeBuffer largest_in(const Program& program, RoleId role, MemoryTier tier);

// The bytes of one rank's persistent state: weights and the optimizer's tensors.
Bytes state_bytes(const Program& program, RoleId role);

}  // namespace orrery
