// SPDX-License-Identifier: Apache-2.0
// Waits between the slots of a role, derived from the tensors that outlive a slot: an op waits for
// whoever on another stream last wrote what it reads, and for the readers of what it overwrites.
// Tensors of a micro-batch are told apart by the micro-batch.
#pragma once

#include "engine/program.h"

namespace orrery {

// Appends to the waits that the slots have already (waits for resources).
void derive_slot_waits(const Program& program, Role& role);

}  // namespace orrery
