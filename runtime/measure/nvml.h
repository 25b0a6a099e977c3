// SPDX-License-Identifier: Apache-2.0
// The NVIDIA GPUs of this machine, from the driver's management library (libnvidia-ml.so.1). It is
// loaded at run time, so that its header is not needed. A machine without the library has no GPUs.
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
    std::uint32_t nvlinks = 0;             // links that are up
    std::uint32_t pcie_generation = 0;
    std::uint32_t pcie_width = 0;
};

// Empty without the library. An error if the library exists but cannot be used.
Result<std::vector<NvmlGpu>> nvml_gpus(const std::string& library = "libnvidia-ml.so.1");

}  // namespace orrery
