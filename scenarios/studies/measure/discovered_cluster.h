// SPDX-License-Identifier: Apache-2.0
// From what a machine says and measures of itself to a scenario's document that has the section
// `cluster` alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/measure/host_machine.h"
#include "runtime/measure/machine_probe.h"
#include "runtime/measure/nvml.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/read/nccl_topology.h"

namespace orrery {

// One node, its devices the cores. The rates stand in the device `cpu-core`, whose name a profile
// of this machine uses, and messages in its links.
DocumentNode cpu_cluster(const HostMachine& machine, const MachineRates& rates);

// One node, its devices the GPUs, which must be of one kind that the catalogue has.
Result<DocumentNode> gpu_cluster(const std::vector<NvmlGpu>& gpus,
                                 const std::optional<NcclMachine>& topology);

// An error if measurements of this GPU must not be filed under the catalogue's `device`: because it
// is another GPU's name.
Result<void> check_filed_under(const std::string& device,
                               const std::string& gpu,
                               std::uint64_t memory_bytes);
// The same of this machine's first GPU; an error also if it has none.
Result<void> check_gpu_is(const std::string& device);

// The override of a scenario that makes its node one GPU of the catalogue's.
std::string node_of_one_gpu(const std::string& device);

}  // namespace orrery
