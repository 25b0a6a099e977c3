// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/compiled_products.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kernels/gemm/grouped_gemm.h"

namespace orrery {

namespace {

constexpr std::int64_t kDepth = 128;  // of a tile

std::int64_t parts(std::int64_t of, std::int64_t size) {
    return (of + size - 1) / size;
}

// Tiles of the result, of two operands with a stage each, scales, and a barrier for each stage.
std::int64_t shared_bytes(const ProductTiling& tiling, std::int64_t depth) {
    const std::int64_t stage =
        (tiling.tile_rows + tiling.tile_columns) * kDepth + tiling.tile_rows * 4 + 16;
    const std::int64_t scales =
        parts(depth, kDepth) * 4 * (kDepth % tiling.tile_columns == 0 ? 1 : 2);
    return tiling.tile_rows * tiling.tile_columns * 2 + tiling.stages * stage +
           parts(scales, 8) * 8;
}

}  // namespace

ProductTiling product_tiling(std::int64_t rows,
                             std::int64_t columns,
                             std::int64_t depth,
                             std::int64_t sms) {
    constexpr std::int64_t kNarrowest = 16;
    constexpr std::int64_t kWidest = 128;
    constexpr std::int64_t kStep = 8;
    constexpr std::int64_t kSharedMemory = 232'448;  // of an SM of Hopper
    constexpr std::int64_t kFewestStages = 4;
    constexpr std::int64_t kMulticastRows = 1024;
    ProductTiling best{.tile_rows = rows <= 64 ? 64 : 128};
    std::pair<std::int64_t, std::int64_t> least{};  // waves, idle SMs in the last one
    for (std::int64_t width = kNarrowest; width <= kWidest; width += kStep) {
        const std::int64_t tiles = parts(rows, best.tile_rows) * parts(columns, width);
        const std::int64_t waves = parts(tiles, sms);
        const std::pair<std::int64_t, std::int64_t> cost{waves, waves * sms - tiles};
        if (best.tile_columns == 0 || cost < least) {
            best.tile_columns = width;
            least = cost;
        }
    }
    best.stages = kDepth % best.tile_columns == 0 ? 8 : 6;
    while (best.stages > kFewestStages && shared_bytes(best, depth) > kSharedMemory) {
        --best.stages;
    }
    best.multicast =
        rows >= kMulticastRows && columns % (2 * best.tile_columns) == 0 && sms % 2 == 0 ? 2 : 1;
    return best;
}

void add_product_kernels(std::span<const ServingOp> ops,
                         std::int64_t sms,
                         CompiledKernels& compiled) {
    // With fewer rows the operands change places (fp8_blockscale_gemm_kernel.cuh: gemm_dispatch).
    constexpr std::int64_t kFewRows = 32;
    for (const ServingOp& op : ops) {
        const auto* call = std::get_if<KernelCall>(&op.work);
        if (call == nullptr || !is_block_scaled(*call) ||
            std::ranges::find(kExpertProducts, op.name) != std::end(kExpertProducts)) {
            continue;
        }
        const std::int64_t rows = call->dims[0];
        const std::int64_t columns = call->dims[1];
        const std::int64_t depth = call->dims[2];
        const bool swapped = rows < kFewRows;
        const ProductTiling tiling = swapped ? product_tiling(columns, rows, depth, sms)
                                             : product_tiling(rows, columns, depth, sms);
        compiled.insert({swapped ? -columns : columns,
                         depth,
                         tiling.tile_rows,
                         tiling.tile_columns,
                         tiling.stages,
                         tiling.multicast});
    }
}

}  // namespace orrery
