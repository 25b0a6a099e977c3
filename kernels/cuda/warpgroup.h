// SPDX-License-Identifier: Apache-2.0
// Matrices in shared memory in the layouts that the products of a warpgroup (Hopper's
// wgmma.mma_async) read. The code is plain arithmetic that runs on any machine. Source: PTX ISA
// 8.x, 9.7.15.5.1 "Register Fragments and Shared Memory Matrix Layouts" and "Matrix Descriptor
// Format".
//
// With 128-byte swizzling a matrix consists of atoms of 8 rows of 128 bytes, 1024-byte aligned. The
// 16-byte chunks of an atom's row are permuted by the row: bits 4-6 of an address are XORed with
// bits 7-9. If the inner dimension k is contiguous (K-major), an atom's rows are rows of the
// matrix. The stride offset leads from eight rows to the next eight, and a step along k moves the
// start address inside the atom. If the other dimension is contiguous (MN-major), an atom's rows
// are values of k. The stride offset leads from eight of them to the next eight, and the leading
// offset from 64 columns (bf16) to the next 64.
#pragma once

#include "kernels/cuda/block.h"

namespace orrery::device {

inline constexpr int kWarpgroup = 128;      // threads
inline constexpr int kWarpgroupRows = 64;   // of A and C
inline constexpr int kPanelColumns = 64;    // columns of bf16 in 128 bytes
inline constexpr int kPanelRowBytes = 128;  // of an atom
inline constexpr int kAtomBytes = 1024;     // eight rows
inline constexpr int kProductDepth = 16;    // k of one instruction in bf16

// 14-bit fields in units of 16 bytes: start address (bit 0), leading (16) and stride offset (32);
// 128-byte swizzling is 1 in the two highest bits.
ORRERY_HOST_DEVICE constexpr std::uint64_t matrix_descriptor(std::uint32_t address,
                                                             int leading_bytes,
                                                             int stride_bytes) {
    const auto field = [](std::uint32_t bytes) {
        return static_cast<std::uint64_t>((bytes & 0x3FFFF) >> 4);
    };
    return field(address) | field(static_cast<std::uint32_t>(leading_bytes)) << 16 |
           field(static_cast<std::uint32_t>(stride_bytes)) << 32 | std::uint64_t{1} << 62;
}

// A tile of bf16 in consecutive panels of 64 columns, 1024-byte aligned.
template <int kColumns, int kTileRows>
struct PanelTile {
    static constexpr int kDim = kColumns;
    static constexpr int kRows = kTileRows;
    static constexpr int kChunks = kDim / 8;          // per row, 16 bytes each
    static constexpr int kRowBytes = kPanelRowBytes;  // from one row to the next
    static constexpr int kPanelBytes = kRows * kPanelRowBytes;
    static constexpr int kBytes = kRows * kDim * 2;
    static_assert(kDim % kPanelColumns == 0 && kRows % 8 == 0);

    ORRERY_HOST_DEVICE static constexpr int offset(int row, int chunk) {
        return chunk / 8 * kPanelBytes + row * kPanelRowBytes + ((chunk % 8) ^ (row & 7)) * 16;
    }
    // The rows from `row` on (a multiple of 8), and columns 16 step ... as inner dimension: an A,
    // or a B that is the transpose of this tile.
    ORRERY_HOST_DEVICE static constexpr std::uint64_t rows_by_columns(std::uint32_t tile,
                                                                      int row,
                                                                      int step) {
        constexpr int kSteps = kPanelColumns / kProductDepth;
        const int start =
            step / kSteps * kPanelBytes + row * kPanelRowBytes + step % kSteps * kProductDepth * 2;
        return matrix_descriptor(tile + static_cast<std::uint32_t>(start), 16, kAtomBytes);
    }
    // Rows 16 step ... as inner dimension, and all columns: a B.
    ORRERY_HOST_DEVICE static constexpr std::uint64_t columns_by_rows(std::uint32_t tile,
                                                                      int step) {
        const int start = step * kProductDepth * kPanelRowBytes;
        return matrix_descriptor(tile + static_cast<std::uint32_t>(start), kPanelBytes, kAtomBytes);
    }
};

}  // namespace orrery::device
