// SPDX-License-Identifier: Apache-2.0
// Devices that run a Program without streams: one op after the other in program order, with the
// host's work on each between them (SimulationInput::in_program_order). Only sent messages do not
// block the next op (runtime/cpu/cpu_executor.h). With plan.cuda_launch_blocking, hosts wait for
// each op, though the device has streams.
#pragma once

#include "engine/program/program.h"
#include "kernels/device_spec.h"
#include "models/plan/plan.h"
#include "scenarios/studies/simulate/step_costs.h"

namespace orrery {

bool runs_in_program_order(const DeviceSpec& device);

// With plan.cuda_launch_blocking, adds the host's launches to the time of each kernel (the mean of
// the ops that share it), so that none can hide, and returns the host's time for one operation.
Time block_launches(const Program& program, const ParallelPlan& plan, StepCosts& costs);

}  // namespace orrery
