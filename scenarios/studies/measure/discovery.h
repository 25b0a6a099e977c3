// SPDX-License-Identifier: Apache-2.0
// The result of `orrery discover` for this machine: its GPUs, or its CPU cores with measured rates.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/measure/discovered_cluster.h"

namespace orrery {

struct Discovery {
    HostMachine machine;
    std::vector<NvmlGpu> gpus;
    std::string device = "cpu";
    MachineRates rates;
    std::string cluster;  // YAML: the `cluster:` part of a scenario
};

// `device`: "cpu" or "cuda"; empty: GPUs if there are any. `topology_file`: written by NCCL; empty:
// none.
Result<Discovery> discover(const std::string& device, const std::string& topology_file);

}  // namespace orrery
