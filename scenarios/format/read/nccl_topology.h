// SPDX-License-Identifier: Apache-2.0
// The XML file with NCCL's view of a node (NCCL_TOPO_DUMP_FILE): GPUs with their NVLinks under
// their PCIe switches and CPUs, and network adapters.
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/base/result.h"

namespace orrery {

struct NcclMachine {
    std::uint32_t gpus = 0;
    std::uint32_t compute_capability = 0;
    std::uint32_t nvlinks_per_gpu = 0;
    bool nvswitch = false;  // all NVLinks lead to a switch
    std::uint32_t sockets = 0;
    bool amd = false;
    std::uint32_t nics = 0;
    std::uint32_t nic_megabits = 0;  // per port
};

Result<NcclMachine> read_nccl_topology(const std::filesystem::path& file);

}  // namespace orrery
