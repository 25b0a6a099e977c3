// SPDX-License-Identifier: Apache-2.0
// The NVIDIA GPUs of this machine, asked of the driver's management library (libnvidia-ml.so.1),
// which is opened at run time: no header of it is needed, and a machine without it has no GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct NvmlGpu {
    std::string name;  // "NVIDIA H100 80GB HBM3"
    std::uint64_t memory_bytes = 0;
    std::uint32_t compute_capability = 0;  // 90
    std::uint32_t nvlinks = 0;             // that are up
    std::uint32_t pcie_generation = 0;
    std::uint32_t pcie_width = 0;
};

// Empty where there is no library. An error if there is one and it can't be used.
Result<std::vector<NvmlGpu>> nvml_gpus(const std::string& library = "libnvidia-ml.so.1");

}  // namespace orrery
