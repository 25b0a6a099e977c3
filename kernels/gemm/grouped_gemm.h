// SPDX-License-Identifier: Apache-2.0
// Products of experts: group i multiplies its own rows[i] x k by its own k x n. One kernel computes
// the tiles of all groups, ceil(rows[i] / 128) x ceil(n / 128) each, on all SMs that communication
// leaves. With few rows per group, the weights are most of the traffic. A call is a gemm() with
// batch = groups, whose m is the mean of the groups' rows:
//   dims = {m, n, k, groups, tiles of 128 rows of all groups, block of the scales or 0}.
// Ragged groups have more tiles than rows / 128. FLOP and bytes are those of the actual rows.
//
// Block-scaled FP8 (E4M3) has an FP32 scale per 128 elements of an activation's row and per 128 x
// 128 elements of a weight. It promotes its sums to FP32 every 128 of k (DeepGEMM). MXFP8 has an
// 8-bit exponent per 32 elements of k of both operands, which Blackwell's tensor cores apply.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/kernel_call.h"
#include "kernels/gemm/gemm.h"

namespace orrery {

inline constexpr std::int64_t kGroupTileRows = 128;
inline constexpr std::int64_t kScaledBlock = 128;
inline constexpr std::int64_t kMxBlock = 32;

inline bool is_grouped(const KernelCall& call) {
    return call.kind == KernelKind::gemm && call.dims[4] > 0;
}

inline bool is_block_scaled(const KernelCall& call) {
    return call.kind == KernelKind::gemm && call.dims[5] == kScaledBlock;
}

inline bool is_mx_scaled(const KernelCall& call) {
    return call.kind == KernelKind::gemm && call.dims[5] == kMxBlock;
}

// Rounds rows up for the layouts of scaled products: to 16 for FP8, 32 for MXFP8 (1 x 32 blocks),
// 128 if the groups of a contiguous buffer start at tiles.
std::int64_t padded_rows(std::int64_t rows, std::int64_t multiple);

struct GroupedGemm {
    std::span<const std::int64_t> rows;  // of each group; 0: an expert without tokens
    std::int64_t n = 0;
    std::int64_t k = 0;
    Dtype in = Dtype::bf16;
    Dtype out = Dtype::bf16;
    GemmEpilogue epilogue = GemmEpilogue::none;
    bool block_scaled = false;      // only with in = fp8
    std::int64_t row_multiple = 1;  // padding of the rows
};
KernelCall grouped_gemm(const GroupedGemm& product);
// With equal rows in all groups.
KernelCall grouped_gemm(std::int64_t groups,
                        std::int64_t rows_of_group,
                        std::int64_t n,
                        std::int64_t k,
                        Dtype in,
                        Dtype out,
                        bool block_scaled = false);
// The gradient of the weights: group i adds its [k, rows[i]] x [rows[i], n] to its own k x n.
KernelCall grouped_gemm_weights(const GroupedGemm& product);

// The call of a key, with equal rows in all groups.
KernelCall grouped_gemm_of_key(const KernelCall& key);

// The number of tiles of `tile_rows` rows in a gemm call, over all groups or matrices. For ragged
// groups it is a mean, with a group's last tile half full.
double row_tiles(const KernelCall& call, std::int64_t tile_rows);

// Quantises rows x columns of BF16 to block-scaled FP8: reads each element once, and writes it and
// the scales. With `transposed` it also writes the copy for the product along the other dimension.
KernelCall block_quantise(std::int64_t rows, std::int64_t columns, bool transposed);

}  // namespace orrery
