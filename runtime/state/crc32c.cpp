// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/crc32c.h"

#include <boost/crc.hpp>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include <cstring>

namespace orrery {
namespace {

#if defined(__x86_64__)
// The processor's instruction, eight bytes at a time: about twenty times as fast as a table.
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::span<const std::byte> piece,
                                                               std::uint32_t state) {
    std::uint64_t wide = state;
    while (piece.size() >= sizeof wide) {
        std::uint64_t word = 0;
        std::memcpy(&word, piece.data(), sizeof word);
        wide = _mm_crc32_u64(wide, word);
        piece = piece.subspan(sizeof wide);
    }
    auto narrow = static_cast<std::uint32_t>(wide);
    for (const std::byte byte : piece) {
        narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(byte));
    }
    return narrow;
}

bool has_instruction() {
    return __builtin_cpu_supports("sse4.2") != 0;
}
#else
std::uint32_t by_instruction(std::span<const std::byte>, std::uint32_t state) {
    return state;
}

bool has_instruction() {
    return false;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(const std::vector<std::span<const std::byte>>& pieces) {
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    for (const std::span<const std::byte> piece : pieces) {
        crc.process_bytes(piece.data(), piece.size());
    }
    return crc.checksum();
}

std::uint32_t crc32c(const std::vector<std::span<const std::byte>>& pieces) {
    if (!has_instruction()) {
        return crc32c_by_table(pieces);
    }
    std::uint32_t state = 0xFFFFFFFF;
    for (const std::span<const std::byte> piece : pieces) {
        state = by_instruction(piece, state);
    }
    return ~state;
}

}  // namespace orrery
