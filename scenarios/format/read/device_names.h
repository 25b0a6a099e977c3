// SPDX-License-Identifier: Apache-2.0
// The catalogue's device for a GPU's name in NVIDIA's driver (nvidia-smi, NVML, NCCL).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

// The catalogue's name, or empty if the catalogue lacks the GPU. `memory_bytes` distinguishes
// variants of a name; 0: the size in the name ("80GB"), or the variant without a minimum.
std::string device_of_gpu(std::string_view name, std::uint64_t memory_bytes);

// Whether the driver has its own name for this device of the catalogue.
bool names_a_gpu(std::string_view device);

}  // namespace orrery
