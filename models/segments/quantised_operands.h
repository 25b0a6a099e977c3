// SPDX-License-Identifier: Apache-2.0
// Operands of FP8 products: casts, and the copies that the forward pass keeps for the backward pass
// (plan.fp8_saved_inputs). The functions that make them are BlockBuilder's.
#pragma once

#include <span>

#include "models/segments/block_builder.h"

namespace orrery {

// Ends the 16-bit inputs that no op of the `backward` segments reads with their forward pass: those
// segments read their FP8 copies. Forgets which copies there are.
void free_copied_inputs(ProgramTables& tables, std::span<const SegmentId> backward);

}  // namespace orrery
