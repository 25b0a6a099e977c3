// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/timing_pool.h"

#include <gtest/gtest.h>

#include "tests/engine/small_folded_step.h"

namespace orrery {
namespace {

using testing::pass_of;
using testing::us;

TEST(TimingPool, KeepsEqualTimingsOnce) {
    TimingPool pool;
    const PassTiming& one = pool.pass(pass_of(us(10)));
    EXPECT_EQ(&pool.pass(pass_of(us(10))), &one);
    EXPECT_NE(&pool.pass(pass_of(us(11))), &one);
    // Equal streams and durations, but another launch.
    EXPECT_NE(&pool.pass({{PassOp{.duration = us(10), .launch = 2}}, {}, 100}), &one);
    EXPECT_EQ(one.size(), 1u);
}

TEST(TimingPool, NumbersContents) {
    TimingPool pool;
    const std::uint32_t one = pool.number_of({1, 2});
    EXPECT_NE(pool.number_of({1, 2, 0}), one);
    EXPECT_EQ(pool.number_of({1, 2}), one);
}

}  // namespace
}  // namespace orrery
