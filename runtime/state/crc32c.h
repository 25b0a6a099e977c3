// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli's polynomial, as iSCSI uses it: RFC 3720, section 12.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

// Of the pieces one after the other.
std::uint32_t crc32c(const std::vector<std::span<const std::byte>>& pieces);
// The same where the processor has no instruction for it.
std::uint32_t crc32c_by_table(const std::vector<std::span<const std::byte>>& pieces);

}  // namespace orrery
