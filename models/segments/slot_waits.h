// SPDX-License-Identifier: Apache-2.0
// Waits between the slots of a role, derived from the tensors that outlive a slot
// (models/segments/hazards.h). A tensor of a micro-batch has one instance for each micro-batch. If
// the host does not wait for an op at the end of a step (Role::host_reads), waits for this op are
// carried into the next step.
#pragma once

#include "engine/program/program.h"

namespace orrery {

// Appends to the existing waits of the slots (waits for resources). Each wait occurs once.
void derive_slot_waits(const Program& program, Role& role);

}  // namespace orrery
