// SPDX-License-Identifier: Apache-2.0
// The GPUs that CUDA's runtime reports: the part of runtime/cuda/devices.h that is in the module.
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/devices.h"

namespace orrery {

Result<std::vector<CudaDeviceInfo>> driver_devices();
std::string driver_versions();

}  // namespace orrery
