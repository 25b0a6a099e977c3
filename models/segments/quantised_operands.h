// SPDX-License-Identifier: Apache-2.0
// Operands of FP8 products: casts, and the copies that a pass keeps for later ones
// (plan.fp8_saved_inputs): inputs for the backward pass, gradients for deferred products of weights
// (Transformer Engine's WeightGradStore). The functions that make them are BlockBuilder's.
#pragma once

#include <span>

#include "models/segments/block_builder.h"

namespace orrery {

// Ends the 16-bit tensors with FP8 copies with the pass that makes them, if no other one of the
// `backward` segments reads them: those read the copies. Forgets which copies there are.
void free_copied_inputs(ProgramTables& tables, std::span<const SegmentId> backward);

}  // namespace orrery
