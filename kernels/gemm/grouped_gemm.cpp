// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/grouped_gemm.h"

#include <algorithm>

#include "engine/base/check.h"
#include "kernels/memory_bound.h"

namespace orrery {
namespace {

constexpr std::int64_t kKeyGroupsMax = 1 << 20;

std::int64_t up(std::int64_t value, std::int64_t divisor) {
    return (value + divisor - 1) / divisor;
}

// Bytes of the FP32 scales of a product's operands.
std::int64_t scale_bytes(std::int64_t rows, std::int64_t groups, std::int64_t n, std::int64_t k) {
    const std::int64_t blocks = up(k, kScaledBlock);
    return 4 * (rows * blocks + groups * blocks * up(n, kScaledBlock));
}

struct RowCounts {
    std::int64_t rows = 0;
    std::int64_t groups = 0;  // groups that have rows
    std::int64_t tiles = 0;
};

RowCounts counts_of(const GroupedGemm& product) {
    RowCounts counts;
    for (const std::int64_t rows : product.rows) {
        ORRERY_CHECK(rows >= 0);
        const std::int64_t filled = padded_rows(rows, product.row_multiple);
        counts.rows += filled;
        counts.groups += filled > 0 ? 1 : 0;
        counts.tiles += up(filled, kGroupTileRows);
    }
    return counts;
}

}  // namespace

std::int64_t padded_rows(std::int64_t rows, std::int64_t multiple) {
    ORRERY_CHECK(multiple > 0);
    return up(rows, multiple) * multiple;
}

KernelCall grouped_gemm(const GroupedGemm& product) {
    ORRERY_CHECK(product.n > 0 && product.k > 0);
    ORRERY_CHECK(!product.block_scaled || product.in == Dtype::fp8);
    const RowCounts counts = counts_of(product);
    const std::int64_t groups = std::max<std::int64_t>(counts.groups, 1);
    // The bytes of one product over all rows, plus the weights of each further group.
    KernelCall call =
        gemm(counts.rows, product.n, product.k, 1, product.in, product.epilogue, product.out);
    call.bytes += (groups - 1) * product.n * product.k * size_bytes(product.in);
    if (product.block_scaled) {
        call.bytes += scale_bytes(counts.rows, groups, product.n, product.k);
    }
    call.dims = {std::max<std::int64_t>(up(counts.rows, groups), 1),
                 product.n,
                 product.k,
                 groups,
                 counts.tiles,
                 product.block_scaled ? kScaledBlock : 0};
    return call;
}

KernelCall grouped_gemm(std::int64_t groups,
                        std::int64_t rows_of_group,
                        std::int64_t n,
                        std::int64_t k,
                        Dtype in,
                        Dtype out,
                        bool block_scaled) {
    const std::vector<std::int64_t> rows(static_cast<std::size_t>(groups), rows_of_group);
    return grouped_gemm(
        {.rows = rows, .n = n, .k = k, .in = in, .out = out, .block_scaled = block_scaled});
}

KernelCall grouped_gemm_weights(const GroupedGemm& product) {
    const RowCounts counts = counts_of(product);
    const std::int64_t groups = std::max<std::int64_t>(counts.groups, 1);
    KernelCall call = gemm(product.k,
                           product.n,
                           std::max<std::int64_t>(counts.rows, 1),
                           1,
                           product.in,
                           product.epilogue,
                           product.out);
    // The rows are read once; each group has its own result.
    call.bytes +=
        (groups - 1) * gemm_result_bytes(product.n * product.k, product.epilogue, product.out);
    if (product.block_scaled) {
        call.bytes += 4 * up(counts.rows, kScaledBlock) * (product.n + product.k);
    }
    call.dims = {product.k,
                 product.n,
                 std::max<std::int64_t>(up(counts.rows, groups), 1),
                 groups,
                 groups * up(product.k, kGroupTileRows),
                 product.block_scaled ? kScaledBlock : 0};
    return call;
}

KernelCall grouped_gemm_of_key(const KernelCall& key) {
    const auto [m, n, k, groups, tiles, block] = key.dims;
    const bool weights = gemm_epilogue(key) == GemmEpilogue::accumulate;
    // The last tile of a group may be partial.
    const std::int64_t most =
        weights ? groups * up(m, kGroupTileRows) : groups + groups * m / kGroupTileRows;
    if (groups > kKeyGroupsMax || tiles > most || (block > 0 && key.dtype != Dtype::fp8)) {
        return {};
    }
    const std::vector<std::int64_t> rows(static_cast<std::size_t>(groups), weights ? k : m);
    const GroupedGemm product{.rows = rows,
                              .n = n,
                              .k = weights ? m : k,
                              .in = key.dtype,
                              .out = gemm_output(key),
                              .epilogue = gemm_epilogue(key),
                              .block_scaled = block == kScaledBlock};
    KernelCall call = weights ? grouped_gemm_weights(product) : grouped_gemm(product);
    call.dims[4] = tiles;
    call.dims[5] = block;
    return call;
}

double row_tiles(const KernelCall& call, std::int64_t tile_rows) {
    const std::int64_t groups = call.dims[3];
    const std::int64_t equal = groups * up(call.dims[0], kGroupTileRows);
    if (call.dims[4] == 0 || call.dims[4] == equal) {
        return static_cast<double>(groups * up(call.dims[0], tile_rows));
    }
    const double half = static_cast<double>(groups) / 2;
    const double full = (static_cast<double>(call.dims[4]) - half) *
                        static_cast<double>(kGroupTileRows) / static_cast<double>(tile_rows);
    return std::max(static_cast<double>(groups), full + half);
}

KernelCall block_quantise(std::int64_t rows, std::int64_t columns, bool transposed) {
    const std::int64_t elements = rows * columns;
    const std::int64_t copy = elements + 4 * up(elements, kScaledBlock);
    // Absolute value, maximum, product, conversion per element.
    return memory_bound_call(KernelKind::cast,
                             Dtype::bf16,
                             static_cast<int>(Dtype::fp8) + (transposed ? 8 : 0),
                             {rows, columns, 0, 0, 0, 0},
                             4.0 * element_count(rows, columns),
                             2 * elements + (transposed ? 2 : 1) * copy);
}

}  // namespace orrery
