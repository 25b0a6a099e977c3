// SPDX-License-Identifier: Apache-2.0
// What CUDA's runtime says of the GPUs: the part of runtime/cuda/devices.h that lies in the module.
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/devices.h"

namespace orrery {

Result<std::vector<CudaDeviceInfo>> driver_devices();
std::string driver_versions();

}  // namespace orrery
