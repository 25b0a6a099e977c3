// SPDX-License-Identifier: Apache-2.0
#include "engine/base/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace orrery {
namespace {

TEST(Parallel, EveryPieceIsDoneOnceWhateverTheThreads) {
    for (const std::uint32_t threads : {0U, 1U, 4U, 100U}) {
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
            std::vector<int> times(count, 0);
            std::vector<std::size_t> heard;
            for_each_index(
                count,
                threads,
                [&](std::size_t i) { ++times[i]; },
                [&](std::size_t done) { heard.push_back(done); });
            EXPECT_EQ(times, std::vector<int>(count, 1));
            ASSERT_EQ(heard.size(), count);
            for (std::size_t i = 0; i < count; ++i) {
                EXPECT_EQ(heard[i], i + 1);
            }
        }
    }
    EXPECT_GE(usable_cores(), 1U);
}

TEST(Parallel, WhatAPieceThrowsReachesTheCaller) {
    for (const std::uint32_t threads : {1U, 4U}) {
        EXPECT_THROW(for_each_index(100,
                                    threads,
                                    [](std::size_t i) {
                                        if (i == 50) {
                                            throw std::runtime_error("piece 50");
                                        }
                                    }),
                     std::runtime_error);
    }
}

}  // namespace
}  // namespace orrery
