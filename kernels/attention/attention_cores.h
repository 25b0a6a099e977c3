// SPDX-License-Identifier: Apache-2.0
// The two kinds of products in attention, for two kinds of tensor cores: of a warp (mma.sync) and
// of a warpgroup (wgmma). In both, a warp owns one or more groups ("halves") of 16 rows. A thread
// holds the sums of rows lane / 4 and lane / 4 + 8, and of every eight columns the columns 2 (lane
// % 4) and the next. The result of a product thus has the layout of an operand A of the next
// product.
#pragma once

#include "kernels/attention/attention_tiles.h"
#include "kernels/cuda/warpgroup.h"

namespace orrery::device {

// Columns 16 step ... of the [16, 8 kTiles] sums of a warp, rounded, as an A.
template <int kTiles>
ORRERY_DEVICE void a_of_sums(const float (&sums)[kTiles][4], int step, std::uint32_t (&a)[4]) {
    a[0] = pack_bf16(sums[2 * step][0], sums[2 * step][1]);
    a[1] = pack_bf16(sums[2 * step][2], sums[2 * step][3]);
    a[2] = pack_bf16(sums[2 * step + 1][0], sums[2 * step + 1][1]);
    a[3] = pack_bf16(sums[2 * step + 1][2], sums[2 * step + 1][3]);
}

template <int kHalves, int kTiles>
ORRERY_DEVICE void clear(float (&sums)[kHalves][kTiles][4]) {
    ORRERY_UNROLL
    for (int i = 0; i < kHalves * kTiles * 4; ++i) {
        sums[i / (kTiles * 4)][i / 4 % kTiles][i % 4] = 0.0f;
    }
}

class WarpCores {
public:
    static constexpr int kForwardThreads = 128;
    static constexpr int kForwardHalves = 2;
    static constexpr int kForwardKeys = 64;
    template <int kDim, int kRows>
    using Tile = RowTile<kDim, kRows>;

    // Call it between the end of a thread's copies and the sync() before they are read.
    template <class Block>
    ORRERY_DEVICE static void publish(Block&) {}
    // Call it before reading the sums.
    template <class Block>
    ORRERY_DEVICE static void finish(Block&) {}

    // sums[half] [16, Y::kRows] = rows row + 16 half ... of x times the transpose of y.
    template <class X, class Y, int kHalves, class Block>
    ORRERY_DEVICE static void multiply_transposed(Block& block,
                                                  const std::byte* x,
                                                  int row,
                                                  const std::byte* y,
                                                  float (&sums)[kHalves][Y::kRows / 8][4]) {
        clear(sums);
        ORRERY_UNROLL
        for (int step = 0; step < X::kDim / 16; ++step) {
            std::uint32_t a[kHalves][4];
            ORRERY_UNROLL
            for (int half = 0; half < kHalves; ++half) {
                load_a<X>(block, x, row + 16 * half, step, a[half]);
            }
            ORRERY_UNROLL
            for (int n = 0; n < Y::kRows / 16; ++n) {
                std::uint32_t b[4];
                load_b<Y>(block, y, 16 * n, step, b);
                ORRERY_UNROLL
                for (int half = 0; half < kHalves; ++half) {
                    block.mma(sums[half][2 * n], a[half], b[0], b[1]);
                    block.mma(sums[half][2 * n + 1], a[half], b[2], b[3]);
                }
            }
        }
    }

    // sums[half] [16, Y::kDim] += x[half] [16, Y::kRows], rounded, times y.
    template <class Y, int kHalves, class Block>
    ORRERY_DEVICE static void add_product(Block& block,
                                          const float (&x)[kHalves][Y::kRows / 8][4],
                                          const std::byte* y,
                                          float (&sums)[kHalves][Y::kDim / 8][4]) {
        ORRERY_UNROLL
        for (int step = 0; step < Y::kRows / 16; ++step) {
            std::uint32_t a[kHalves][4];
            ORRERY_UNROLL
            for (int half = 0; half < kHalves; ++half) {
                a_of_sums(x[half], step, a[half]);
            }
            ORRERY_UNROLL
            for (int n = 0; n < Y::kDim / 16; ++n) {
                std::uint32_t b[4];
                load_b_straight<Y>(block, y, 16 * step, n, b);
                ORRERY_UNROLL
                for (int half = 0; half < kHalves; ++half) {
                    block.mma(sums[half][2 * n], a[half], b[0], b[1]);
                    block.mma(sums[half][2 * n + 1], a[half], b[2], b[3]);
                }
            }
        }
    }

    // Two such products, with two sums.
    template <class Y, int kHalves, class Block>
    ORRERY_DEVICE static void add_products(Block& block,
                                           const float (&x1)[kHalves][Y::kRows / 8][4],
                                           const std::byte* y1,
                                           float (&sums1)[kHalves][Y::kDim / 8][4],
                                           const float (&x2)[kHalves][Y::kRows / 8][4],
                                           const std::byte* y2,
                                           float (&sums2)[kHalves][Y::kDim / 8][4]) {
        add_product<Y>(block, x1, y1, sums1);
        add_product<Y>(block, x2, y2, sums2);
    }

private:
    // A (16 rows from `row` on, columns 16 step ...).
    template <class Own, class Block>
    ORRERY_DEVICE static void load_a(
        Block& block, const std::byte* tile, int row, int step, std::uint32_t (&a)[4]) {
        const int lane = block.lane();
        block.load_matrices(tile + Own::offset(row + lane % 16, 2 * step + lane / 16), a);
    }

    // B of a product with the transpose of the tile. The columns of B are the 16 rows from `row`
    // on; the rows of B are the tile's columns 16 step .... {b[0], b[1]} and {b[2], b[3]} have
    // eight columns each.
    template <class Own, class Block>
    ORRERY_DEVICE static void load_b(
        Block& block, const std::byte* tile, int row, int step, std::uint32_t (&b)[4]) {
        const int lane = block.lane();
        const int chunk = 2 * step + lane / 8 % 2;
        block.load_matrices(tile + Own::offset(row + lane % 8 + lane / 16 * 8, chunk), b);
    }

    // B of a product with the tile itself: its rows row ..., columns 16 step ....
    template <class Own, class Block>
    ORRERY_DEVICE static void load_b_straight(
        Block& block, const std::byte* tile, int row, int step, std::uint32_t (&b)[4]) {
        const int lane = block.lane();
        const int chunk = 2 * step + lane / 16;
        block.load_matrices_transposed(tile + Own::offset(row + lane % 16, chunk), b);
    }
};

// Four warps with 16 rows each form a warpgroup of 64 rows. It reads B from shared memory, and A
// from shared memory or, if A consists of sums, from registers.
class WarpgroupCores {
public:
    static constexpr int kForwardThreads = 256;
    static constexpr int kForwardHalves = 1;
    static constexpr int kForwardKeys = 128;
    template <int kDim, int kRows>
    using Tile = PanelTile<kDim, kRows>;

    template <class Block>
    ORRERY_DEVICE static void publish(Block& block) {
        block.publish_to_products();
    }
    template <class Block>
    ORRERY_DEVICE static void finish(Block& block) {
        block.wait_for_products();
    }

    template <class X, class Y, class Block>
    ORRERY_DEVICE static void multiply_transposed(Block& block,
                                                  const std::byte* x,
                                                  int row,
                                                  const std::byte* y,
                                                  float (&sums)[1][Y::kRows / 8][4]) {
        const std::uint32_t a = block.shared_address(x);
        const std::uint32_t b = block.shared_address(y);
        const int first = row / kWarpgroupRows * kWarpgroupRows;
        block.begin_products();
        block.multiply_first(sums[0], X::rows_by_columns(a, first, 0), Y::rows_by_columns(b, 0, 0));
        ORRERY_UNROLL
        for (int step = 1; step < X::kDim / kProductDepth; ++step) {
            block.multiply(
                sums[0], X::rows_by_columns(a, first, step), Y::rows_by_columns(b, 0, step));
        }
        block.end_products();
    }

    template <class Y, class Block>
    ORRERY_DEVICE static void add_product(Block& block,
                                          const float (&x)[1][Y::kRows / 8][4],
                                          const std::byte* y,
                                          float (&sums)[1][Y::kDim / 8][4]) {
        const Rounded<Y> a{x[0]};
        block.begin_products();
        a.add(block, y, sums[0]);
        block.end_products();
    }

    // All writes to registers are ordered before the first product.
    template <class Y, class Block>
    ORRERY_DEVICE static void add_products(Block& block,
                                           const float (&x1)[1][Y::kRows / 8][4],
                                           const std::byte* y1,
                                           float (&sums1)[1][Y::kDim / 8][4],
                                           const float (&x2)[1][Y::kRows / 8][4],
                                           const std::byte* y2,
                                           float (&sums2)[1][Y::kDim / 8][4]) {
        const Rounded<Y> a1{x1[0]};
        const Rounded<Y> a2{x2[0]};
        block.begin_products();
        a1.add(block, y1, sums1[0]);
        a2.add(block, y2, sums2[0]);
        block.end_products();
    }

private:
    // The sums of a warp, with as many columns as Y has rows, as operands A.
    template <class Y>
    struct Rounded {
        static constexpr int kSteps = Y::kRows / kProductDepth;
        std::uint32_t words[kSteps][4];

        ORRERY_DEVICE explicit Rounded(const float (&sums)[Y::kRows / 8][4]) {
            ORRERY_UNROLL
            for (int step = 0; step < kSteps; ++step) {
                a_of_sums(sums, step, words[step]);
            }
        }
        template <class Block>
        ORRERY_DEVICE void add(Block& block,
                               const std::byte* y,
                               float (&sums)[Y::kDim / 8][4]) const {
            const std::uint32_t b = block.shared_address(y);
            ORRERY_UNROLL
            for (int step = 0; step < kSteps; ++step) {
                block.multiply(sums, words[step], Y::columns_by_rows(b, step));
            }
        }
    };
};

// Tiles with half the keys in the forward pass, so that two blocks fit a multiprocessor (heads of
// 64).
class ShortWarpgroupCores : public WarpgroupCores {
public:
    static constexpr int kForwardKeys = 64;
};

}  // namespace orrery::device
