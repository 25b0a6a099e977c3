// SPDX-License-Identifier: Apache-2.0
// Figures of a role's memory plan: what it allocates, and of that what is in use, when and by what.
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
    Bytes bytes;  // of all copies together
    std::int64_t copies = 1;
};

struct RoleMemory {
    RoleId role{};
    Bytes peak;  // MemoryPlan::bytes() and the workspace
    // The most that tensors and workspace take at once: no more than `peak`, which also has the
    // gaps that packing leaves.
    Bytes in_use;
    MemoryByKind at_peak;  // adds up to `in_use`
    // The moment: the slot during which most is in use.
    std::uint32_t slot = 0;
    std::vector<LargeBuffer> largest;   // in use then, largest first
    std::vector<MemoryByKind> by_slot;  // the most that each slot needs
};

// Ranks of a role are alike. `workspace` is added to every role: library workspaces.
RoleMemory role_memory(const Program& program, RoleId role, Bytes workspace);

// The bytes of the role that needs most, without any workspace: what the largest rank allocates for
// tensors.
Bytes largest_plan(const Program& program);

// The most that a role's tensors take of its host's memory.
Bytes host_bytes(const Program& program, RoleId role);

// What a role's tensors take of its host's drives.
Bytes file_bytes(const Program& program, RoleId role);

// The largest tensor of a role in this tier; its `bytes` are zero if it has none there.
LargeBuffer largest_in(const Program& program, RoleId role, MemoryTier tier);

// The state of one rank: weights and the optimizer's tensors that persist.
Bytes state_bytes(const Program& program, RoleId role);

}  // namespace orrery
