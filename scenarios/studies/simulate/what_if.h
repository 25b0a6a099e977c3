// SPDX-License-Identifier: Apache-2.0
// Repeats a simulation with one cause of lost time at zero, to test the waterfall's attribution.
// Every dependence stays: a message that takes no time still waits for its sender. The previous
// critical path is then shorter by the cause's part. The step cannot gain more than that, except
// through kernels that are slowed less and transfers that share links with fewer others.
#pragma once

#include "engine/program/program.h"
#include "engine/world/forwarded_network.h"
#include "engine/world/simulation.h"
#include "models/experts/routed_step.h"

namespace orrery {

// The program to simulate without this cause. Communication of the cause has table entries of its
// own with nothing to move, for which SilentNetwork plans no time. Kernels of the cause have table
// entries of their own, so that a change of their time (remove_kernel_time) changes no other op.
// Ops keep their positions.
Program program_without(const Program& program, Cause cause);

// A network on which a transfer without bytes takes no time, neither latency nor SMs.
class SilentNetwork final : public ForwardedNetwork {
public:
    using ForwardedNetwork::ForwardedNetwork;

    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;
};

// `program` must come from program_without(). Kernels of this cause take their ideal time, which is
// useful compute. Kernels whose work is never useful (recomputation, optimizer) take none.
void remove_kernel_time(const Program& program, Cause cause, DeviceTimings& timings);
// The same for the kernels appended to the Program's.
void remove_kernel_time(const RoutedStep& routed, Cause cause, DeviceTimings& timings);

}  // namespace orrery
