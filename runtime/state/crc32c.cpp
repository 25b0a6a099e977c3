// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/crc32c.h"

#include <boost/crc.hpp>

namespace orrery {

std::uint32_t crc32c(const std::vector<std::span<const std::byte>>& pieces) {
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    for (const std::span<const std::byte> piece : pieces) {
        crc.process_bytes(piece.data(), piece.size());
    }
    return crc.checksum();
}

}  // namespace orrery
