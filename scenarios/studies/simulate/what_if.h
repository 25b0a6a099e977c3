// SPDX-License-Identifier: Apache-2.0
// Simulating again with one cause of lost time at zero: the test of the waterfall's attribution.
// Every dependence stays: a message that takes no time still waits for its sender. So the critical
// path of before is as long as it was less the cause's part, and no more can be saved, but for
// what kernels gain that are slowed less and transfers that share links with fewer others.
#pragma once

#include "engine/program/program.h"
#include "engine/world/forwarded_network.h"
#include "engine/world/simulation.h"
#include "models/experts/routed_step.h"

namespace orrery {

// The program to simulate without this cause. Communication of the cause has table entries of its
// own with nothing to move, for which SilentNetwork plans no time. Kernels of the cause have table
// entries of their own, so that changing their time (remove_kernel_time) changes no other op's. Ops
// keep their places.
Program program_without(const Program& program, Cause cause);

// A network on which what has no bytes takes no time, latency and SMs included.
class SilentNetwork final : public ForwardedNetwork {
public:
    using ForwardedNetwork::ForwardedNetwork;

    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;
};

// `program` is one of program_without(): kernels of this cause take their ideal time, which is
// useful compute; those whose work is never useful (recomputation, optimizer) take none.
void remove_kernel_time(const Program& program, Cause cause, DeviceTimings& timings);
// The same of the kernels behind the Program's.
void remove_kernel_time(const RoutedStep& routed, Cause cause, DeviceTimings& timings);

}  // namespace orrery
