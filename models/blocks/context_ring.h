// SPDX-License-Identifier: Apache-2.0
// The ring on which context-parallel ranks pass blocks on: after size - 1 hops each rank has had
// the block of every other.
//
// Experts may end inside the axis and cut it into several digits of the mesh. The ring then goes
// round the first digit, takes one step along the next, goes round the first again, and so on. Each
// hop is a shift along one digit, the same on all ranks.
#pragma once

#include <cstdint>

#include "models/plan/layout_assignment.h"

namespace orrery {

// 1 if nothing is passed on.
std::int64_t ranks_of_ring(const LayoutAssignment& layouts);

// The mesh digit along which the hop with this number goes; the first is 1.
std::uint32_t digit_of_hop(const LayoutAssignment& layouts, std::int64_t hop);

}  // namespace orrery
