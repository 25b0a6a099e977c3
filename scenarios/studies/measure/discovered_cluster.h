// SPDX-License-Identifier: Apache-2.0
// Makes a scenario's document with only the section `cluster` from the description and measurements
// of a machine.
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

// One node, whose devices are the cores. The rates are those of the device `cpu-core`, which
// profiles of this machine name. Messages are in the node's links.
DocumentNode cpu_cluster(const HostMachine& machine, const MachineRates& rates);

// One node, whose devices are the GPUs. They must be of one kind, and the catalogue must have it.
Result<DocumentNode> gpu_cluster(const std::vector<NvmlGpu>& gpus,
                                 const std::optional<NcclMachine>& topology);

// An error if `gpu` is another GPU than the catalogue's `device`, so that its measurements must not
// be stored under that name.
Result<void> check_filed_under(const std::string& device,
                               const std::string& gpu,
                               std::uint64_t memory_bytes);
// The same for this machine's first GPU. It is also an error if the machine has none.
Result<void> check_gpu_is(const std::string& device);

// The override that makes a scenario's node one GPU of the catalogue.
std::string node_of_one_gpu(const std::string& device);

}  // namespace orrery
