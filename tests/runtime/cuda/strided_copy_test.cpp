// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace orrery {
namespace {

std::int64_t place(const LocalBlock& block, std::array<std::int64_t, 3> at) {
    std::int64_t position = 0;
    for (std::size_t dim = 0; dim < 3; ++dim) {
        position = position * block[dim].count + at[dim] - block[dim].first;
    }
    return position;
}

// Element by element, by the definition of row-major order.
TEST(StridedCopy, MovesEveryElementOfThePartOnce) {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        std::mt19937 dice{seed};
        LocalBlock part;
        LocalBlock from;
        LocalBlock to;
        for (int dim = 0; dim < 3; ++dim) {
            const auto draw = [&](std::uint32_t most) {
                return static_cast<std::int64_t>(dice() % (most + 1));
            };
            const DimensionRange p{4 + draw(3), draw(4)};
            part.push_back(p);
            for (LocalBlock* block : {&from, &to}) {
                const std::int64_t before = dice() % 2 == 0 ? 0 : draw(4);
                const std::int64_t after = dice() % 2 == 0 ? 0 : draw(3);
                block->push_back({p.first - before, before + p.count + after});
            }
        }
        std::vector<std::int64_t> moved(static_cast<std::size_t>(elements_of(to)), -1);
        for (const StridedCopy& c : strided_copies(part, from, to)) {
            for (std::int64_t row = 0; row < c.rows; ++row) {
                for (std::int64_t i = 0; i < c.width; ++i) {
                    auto& target = moved.at(static_cast<std::size_t>(c.to + row * c.to_pitch + i));
                    EXPECT_EQ(target, -1) << "seed " << seed;
                    target = c.from + row * c.from_pitch + i;
                }
            }
        }
        std::int64_t elements = 0;
        for (std::int64_t x = 0; x < part[0].count; ++x) {
            for (std::int64_t y = 0; y < part[1].count; ++y) {
                for (std::int64_t z = 0; z < part[2].count; ++z) {
                    const std::array<std::int64_t, 3> at{
                        part[0].first + x, part[1].first + y, part[2].first + z};
                    EXPECT_EQ(moved[static_cast<std::size_t>(place(to, at))], place(from, at))
                        << "seed " << seed;
                    ++elements;
                }
            }
        }
        EXPECT_EQ(std::ranges::count_if(moved, [](std::int64_t m) { return m >= 0; }), elements);
    }
}

// A slice of the width of an activation is one copy, whatever sequence and batch.
TEST(StridedCopy, ASliceOfColumnsIsOneCopy) {
    const LocalBlock part{{0, 64}, {0, 4}, {32, 32}};
    const LocalBlock whole{{0, 64}, {0, 4}, {0, 64}};
    const std::vector<StridedCopy> copies = strided_copies(part, part, whole);
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_EQ(copies[0].to, 32);
    EXPECT_EQ(copies[0].rows, 256);
    EXPECT_EQ(copies[0].to_pitch, 64);
    EXPECT_EQ(strided_copies(whole, whole, whole),
              (std::vector<StridedCopy>{
                  {.width = 64 * 256, .rows = 1, .from_pitch = 64 * 256, .to_pitch = 64 * 256}}));
}

}  // namespace
}  // namespace orrery
