// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli's polynomial, as in iSCSI: RFC 3720, section 12.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

// Of the concatenated pieces.
std::uint32_t crc32c(const std::vector<std::span<const std::byte>>& pieces);
// The same without a processor instruction.
std::uint32_t crc32c_by_table(const std::vector<std::span<const std::byte>>& pieces);

}  // namespace orrery
