// SPDX-License-Identifier: Apache-2.0
// Peak memory of a rank, computed from the Program's tensors and their lifetimes as its slots run
// in order: what the real executor allocates. Persistent tensors count always, those of a
// micro-batch from their first to their last slot, those of a slot while an op between first and
// last use runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/program.h"

namespace orrery {

struct MemoryByKind {
    std::array<Bytes, kNumTensorKinds> of{};
    Bytes& operator[](TensorKind k) { return of[static_cast<std::size_t>(k)]; }
    const Bytes& operator[](TensorKind k) const { return of[static_cast<std::size_t>(k)]; }
    Bytes total() const;
};

struct LargeBuffer {
    std::string name;
    TensorKind kind = TensorKind::activations;
    Bytes bytes;  // of all copies together
    std::int64_t copies = 1;
};

struct RoleMemory {
    RoleId role{};
    Bytes peak;
    MemoryByKind at_peak;
    // The moment: the slot during which the peak occurs.
    std::uint32_t slot = 0;
    std::vector<LargeBuffer> largest;   // alive at the peak, largest first
    std::vector<MemoryByKind> by_slot;  // the most that each slot needs
};

// Ranks of a role are alike. `workspace` is added to every role: library workspaces.
RoleMemory role_memory(const Program& program, RoleId role, Bytes workspace);

}  // namespace orrery
