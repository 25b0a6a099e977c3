// SPDX-License-Identifier: Apache-2.0
// The parts of an answer about a Program, its collectives, its memory and its links.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/program/network_model.h"
#include "engine/program/program.h"
#include "engine/world/simulation.h"
#include "kernels/device_spec.h"
#include "models/experts/routed_step.h"
#include "models/plan/plan.h"
#include "network/fabric/cluster_spec.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

// "64 GPUs: 8 x dgx-h100, ndr400-rail".
std::string words_with_fabric(const ClusterSpec& cluster);

// "8", or "8-8-4-4 by stage".
std::string tensor_sizes(const ParallelPlan& plan);

// The first rank of each role.
std::vector<RankId> role_representatives(const Program& program);

// The collectives of one step, merged by equal calls, the largest volume first.
std::vector<CollectiveUse> collective_uses(const Program& program, const NetworkModel& network);

// By class of links that the step used.
std::vector<LinkUse> link_uses(const SimulationResult& result,
                               const NetworkModel& network,
                               std::span<const std::string> class_names);

// For the role that needs most of its devices' memory: its memory plan and the libraries'
// workspace. `memory`: by role, of its smallest device.
MemoryUse memory_use(const Program& program, std::span<const Bytes> memory);
MemoryUse memory_use(const Program& program, const DeviceSpec& device);
// With separate loads: for the rank of each role with most rows. `tensors` is the output of
// lower().
MemoryUse memory_use(const Program& program,
                     const std::optional<RoutedStep>& routed,
                     std::span<const RoutedTensor> tensors,
                     std::span<const Bytes> memory);
// Adds the bytes of the ranks of each server in its memory. The answer has those of the fullest
// server.
void add_host_memory(const Program& program, const ClusterSpec& cluster, MemoryUse& use);

}  // namespace orrery
