// SPDX-License-Identifier: Apache-2.0
// Whose attention curves a device has. Blackwell Ultra (compute capability 10.3) takes exponentials
// at twice Blackwell's rate ("Inside Blackwell Ultra", NVIDIA, 2025), so its attention is measured
// by itself. Other kernels have the curves of their generation.
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
