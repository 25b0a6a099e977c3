// SPDX-License-Identifier: Apache-2.0
// The place of a rank's bytes: its device's memory, its host's memory, or its host's drives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orrery {

enum class MemoryTier : std::uint8_t { hbm, dram, nvme };
inline constexpr std::size_t kNumMemoryTiers = 3;
std::string_view name(MemoryTier tier);

}  // namespace orrery
