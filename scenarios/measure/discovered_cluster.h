// SPDX-License-Identifier: Apache-2.0
// From what a machine says and measures of itself to a scenario's document that has the section
// `cluster` alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/result.h"
#include "runtime/measure/host_machine.h"
#include "runtime/measure/machine_probe.h"
#include "runtime/measure/nvml.h"
#include "scenarios/read/document_node.h"
#include "scenarios/read/nccl_topology.h"

namespace orrery {

// One node, its devices the cores. The rates stand in the device `cpu-core`, whose name a profile
// of this machine uses, and messages in its links.
DocumentNode cpu_cluster(const HostMachine& machine, const MachineRates& rates);

// One node, its devices the GPUs, which must be of one kind that the catalogue has.
Result<DocumentNode> gpu_cluster(const std::vector<NvmlGpu>& gpus,
                                 const std::optional<NcclMachine>& topology);

}  // namespace orrery
