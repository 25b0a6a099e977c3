// SPDX-License-Identifier: Apache-2.0
// The NVIDIA GPUs of this machine. Asking costs a few milliseconds where there is a driver, and
// works on machines without driver, device or a build with CUDA: then the error says which it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/result.h"
#include "engine/units.h"

namespace orrery {

struct CudaDeviceInfo {
    int ordinal = 0;
    std::string name;  // "NVIDIA H100 80GB HBM3"
    Bytes memory;
    int multiprocessors = 0;
    int compute_capability = 0;  // 90
    std::string pci_bus;
};

// At least one.
Result<std::vector<CudaDeviceInfo>> cuda_devices();

// Versions that were built against and that run here: for reports.
std::string cuda_versions();

}  // namespace orrery
