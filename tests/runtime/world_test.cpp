// SPDX-License-Identifier: Apache-2.0
#include "runtime/world.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace orrery {
namespace {

TEST(World, OfAProcessByItselfHasOneRank) {
    const Result<ProcessWorld> world = join_world();
    ASSERT_TRUE(world) << world.error().to_string();
    EXPECT_EQ(world->num_ranks, 1U);
    EXPECT_EQ(world->transport, nullptr);
}

TEST(World, WithSenselessVariablesIsAnError) {
    ::setenv("RANK", "x", 1);
    ::setenv("WORLD_SIZE", "2", 1);
    EXPECT_FALSE(join_world());
    ::unsetenv("RANK");
    ::unsetenv("WORLD_SIZE");
}

// What the ranks of the tests below run: this program with a filter.
TEST(World, DISABLED_IsARankOfThree) {
    Result<ProcessWorld> world = join_world();
    ASSERT_TRUE(world) << world.error().to_string();
    EXPECT_EQ(world->num_ranks, 3U);
    EXPECT_EQ(world->transport->rank(), world->rank);
    EXPECT_EQ(world->transport->num_ranks(), 3U);
    // Nobody leaves before all have come.
    EXPECT_EQ(first_to_fail(*world, world->rank > 0), std::optional{1U});
    EXPECT_EQ(first_to_fail(*world, false), std::nullopt);
}
TEST(World, DISABLED_GivesUp) {
    std::_Exit(7);
}

Result<int> run_test_as_ranks(std::uint32_t num_ranks, const std::string& test) {
    return run_ranks(num_ranks,
                     {"--gtest_also_run_disabled_tests", "--gtest_filter=World.DISABLED_" + test});
}

TEST(World, RanksOfAJobFindEachOther) {
    const Result<int> status = run_test_as_ranks(3, "IsARankOfThree");
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_EQ(*status, 0);
}

TEST(World, StatusIsThatOfTheRankThatFailed) {
    const Result<int> status = run_test_as_ranks(2, "GivesUp");
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_EQ(*status, 7);
}

}  // namespace
}  // namespace orrery
