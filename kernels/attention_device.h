// SPDX-License-Identifier: Apache-2.0
// The row of attention curves for a device. Blackwell Ultra (compute capability 10.3) computes
// exponentials at twice Blackwell's rate ("Inside Blackwell Ultra", NVIDIA, 2025), so that its
// attention has curves of its own. Its other kernels use Blackwell's.
#pragma once

#include <string>

#include "kernels/device_spec.h"

namespace orrery {

inline constexpr const char* kBlackwellUltra = "blackwell-ultra";

inline std::string attention_device(const DeviceSpec& device) {
    constexpr std::uint32_t kUltra = 103;
    return device.generation == "blackwell" && device.compute_capability == kUltra
               ? kBlackwellUltra
               : device.generation;
}

}  // namespace orrery
