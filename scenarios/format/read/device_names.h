// SPDX-License-Identifier: Apache-2.0
// From what NVIDIA's driver calls a GPU (nvidia-smi, NVML, NCCL) to the catalogue's device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

// The catalogue's name, or empty if the catalogue lacks the GPU. `memory_bytes` tells variants of a
// name apart; 0: as the name says ("80GB"), or the variant without a minimum.
std::string device_of_gpu(std::string_view name, std::uint64_t memory_bytes);

// Whether the driver has a name of its own for this device of the catalogue.
bool names_a_gpu(std::string_view device);

}  // namespace orrery
