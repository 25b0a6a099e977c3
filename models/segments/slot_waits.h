// SPDX-License-Identifier: Apache-2.0
// Waits between the slots of a role, derived from the tensors that outlive a slot
// (models/segments/hazards.h). Tensors of a micro-batch are told apart by the micro-batch. Waits on
// what the host does not wait for at the end of a step (Role::host_reads) are carried into the next
// one.
#pragma once

#include "engine/program/program.h"

namespace orrery {

// Appends to the waits that the slots have already (waits for resources), each wait once.
void derive_slot_waits(const Program& program, Role& role);

}  // namespace orrery
