// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/warpgroup.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/cuda/elements.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/emulation/emulated_warpgroup.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::element_address;
using emulation::Major;

// Byte 2 (column % 8) of the chunk.
template <class Tile>
int place(int row, int column) {
    return Tile::offset(row, column / 8) + column % 8 * 2;
}

template <class Tile>
void expect_descriptors_find_every_element() {
    constexpr std::uint32_t kTile = 3 * 1024;
    for (int step = 0; step < Tile::kDim / 16; ++step) {
        for (int first = 0; first < Tile::kRows; first += 64) {
            for (int i = 0; i < 64 * 16; ++i) {
                const int row = i / 16;
                const int k = i % 16;
                EXPECT_EQ(
                    element_address(Tile::rows_by_columns(kTile, first, step), Major::k, row, k),
                    kTile + place<Tile>(first + row, 16 * step + k));
            }
        }
    }
    for (int step = 0; step < Tile::kRows / 16; ++step) {
        for (int i = 0; i < Tile::kDim * 16; ++i) {
            const int column = i / 16;
            const int k = i % 16;
            EXPECT_EQ(element_address(Tile::columns_by_rows(kTile, step), Major::mn, column, k),
                      kTile + place<Tile>(16 * step + k, column));
        }
    }
}

TEST(PanelTile, DescriptorsFindEveryElement) {
    expect_descriptors_find_every_element<PanelTile<64, 64>>();
    expect_descriptors_find_every_element<PanelTile<64, 128>>();
    expect_descriptors_find_every_element<PanelTile<128, 64>>();
    expect_descriptors_find_every_element<PanelTile<128, 128>>();
}

// Every chunk has a place of its own, and eight neighbouring rows of a column of chunks lie in
// different banks (128 bytes are all of them).
TEST(PanelTile, HasNoTwoChunksInOnePlaceAndNoBankConflicts) {
    using Tile = PanelTile<128, 64>;
    std::set<int> places;
    for (int row = 0; row < Tile::kRows; ++row) {
        for (int chunk = 0; chunk < Tile::kChunks; ++chunk) {
            places.insert(Tile::offset(row, chunk));
            EXPECT_EQ(Tile::offset(row, chunk) % 16, 0);
        }
    }
    EXPECT_EQ(places.size(), static_cast<std::size_t>(Tile::kRows * Tile::kChunks));
    EXPECT_EQ(*places.rbegin(), Tile::kBytes - 16);
    for (int chunk = 0; chunk < Tile::kChunks; ++chunk) {
        std::set<int> banks;
        for (int row = 0; row < 8; ++row) {
            banks.insert(Tile::offset(row, chunk) % 128);
        }
        EXPECT_EQ(banks.size(), 8u);
    }
}

// PTX ISA, "Matrix Descriptor Format": fields in units of 16 bytes.
TEST(MatrixDescriptor, HasItsFieldsWhereTheManualHasThem) {
    const std::uint64_t d = matrix_descriptor(0x12340, 0x4000, 0x400);
    EXPECT_EQ(d & 0x3FFF, 0x1234u);
    EXPECT_EQ(d >> 16 & 0x3FFF, 0x400u);
    EXPECT_EQ(d >> 32 & 0x3FFF, 0x40u);
    EXPECT_EQ(d >> 49 & 0x7, 0u);
    EXPECT_EQ(d >> 62, 1u);
}

constexpr int kColumns = 128;
constexpr int kRows = 64;
using Own = PanelTile<kColumns, kRows>;

// scores = x y^T, then result = scores y, of two tiles in shared memory.
struct TwoProducts {
    static constexpr int kThreadsMax = kWarpgroup;
    const Bf16* x;
    const Bf16* y;
    float* scores;  // [64, 64]
    float* result;  // [64, 128]
    bool publish = true;

    template <class Block>
    void operator()(Block& block) const {
        std::byte* tiles = block.shared();
        for (int i = block.thread(); i < 2 * kRows * Own::kChunks; i += kThreadsMax) {
            const int tile = i / (kRows * Own::kChunks);
            const int row = i / Own::kChunks % kRows;
            const int chunk = i % Own::kChunks;
            block.copy_async(tiles + tile * Own::kBytes + Own::offset(row, chunk),
                             (tile == 0 ? x : y) + row * kColumns + 8 * chunk,
                             true);
        }
        block.commit();
        block.template wait<0>();
        if (publish) {
            block.publish_to_products();
        }
        block.sync();
        const std::uint32_t at = block.shared_address(tiles);
        float s[1][kRows / 8][4] = {};
        float r[1][kColumns / 8][4] = {};
        block.begin_products();
        for (int step = 0; step < kColumns / 16; ++step) {
            block.multiply(s[0],
                           Own::rows_by_columns(at, 0, step),
                           Own::rows_by_columns(at + Own::kBytes, 0, step));
        }
        block.end_products();
        block.wait_for_products();
        block.begin_products();
        for (int step = 0; step < kRows / 16; ++step) {
            std::uint32_t a[4];
            for (int i = 0; i < 4; ++i) {
                a[i] = pack_bf16(s[0][2 * step + i / 2][i % 2 * 2],
                                 s[0][2 * step + i / 2][i % 2 * 2 + 1]);
            }
            block.multiply(r[0], a, Own::columns_by_rows(at + Own::kBytes, step));
        }
        block.end_products();
        block.wait_for_products();
        write(block, s[0], kRows, scores);
        write(block, r[0], kColumns, result);
    }
    template <class Block, int kTiles>
    void write(Block& block, const float (&c)[kTiles][4], int columns, float* to) const {
        for (int i = 0; i < 4 * kTiles; ++i) {
            const int row = 16 * block.warp() + block.lane() / 4 + 8 * (i / 2 % 2);
            to[row * columns + i / 4 * 8 + block.lane() % 4 * 2 + i % 2] = c[i / 4][i % 4];
        }
    }
};

TEST(EmulatedWarpgroup, MultipliesRowsByColumnsAndByRows) {
    numeric::Draw draw{3};
    std::vector<Bf16> x(kRows * kColumns);
    std::vector<Bf16> y(kRows * kColumns);
    for (std::size_t i = 0; i < x.size(); ++i) {  // sums of small integers are exact
        narrow(static_cast<float>(draw.between(-1, 1)), x[i]);
        narrow(static_cast<float>(draw.between(-1, 1)), y[i]);
    }
    std::vector<float> scores(kRows * kRows);
    std::vector<float> result(kRows * kColumns);
    TwoProducts kernel{x.data(), y.data(), scores.data(), result.data()};
    emulation::EmulatedQueue queue{emulation::ThreadOrder::shuffled};
    queue.launch(kernel, {.threads = kWarpgroup, .shared_bytes = 2 * Own::kBytes});
    for (int row = 0; row < kRows; ++row) {
        std::vector<float> expected(kColumns);
        for (int other = 0; other < kRows; ++other) {
            float score = 0;
            for (int k = 0; k < kColumns; ++k) {
                score += widen(x[static_cast<std::size_t>(row * kColumns + k)]) *
                         widen(y[static_cast<std::size_t>(other * kColumns + k)]);
            }
            ASSERT_EQ(scores[static_cast<std::size_t>(row * kRows + other)], score);
            for (int k = 0; k < kColumns; ++k) {
                expected[static_cast<std::size_t>(k)] +=
                    score * widen(y[static_cast<std::size_t>(other * kColumns + k)]);
            }
        }
        for (int k = 0; k < kColumns; ++k) {
            ASSERT_EQ(result[static_cast<std::size_t>(row * kColumns + k)],
                      expected[static_cast<std::size_t>(k)]);
        }
    }
    // What was not published is not there.
    kernel.publish = false;
    queue.launch(kernel, {.threads = kWarpgroup, .shared_bytes = 2 * Own::kBytes});
    EXPECT_TRUE(std::isnan(scores[0]) && std::isnan(result[0]));
}

}  // namespace
}  // namespace orrery::device
