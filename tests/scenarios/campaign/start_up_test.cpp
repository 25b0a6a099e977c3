// SPDX-License-Identifier: Apache-2.0
#include "scenarios/campaign/start_up.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(StartUp, IsThePublishedTable) {
    EXPECT_EQ(cold_start(16384), WallTime::seconds(200));
    EXPECT_EQ(cold_start(98304), WallTime::seconds(900));
    EXPECT_EQ(communicator_creation(65536), WallTime::seconds(100));
    EXPECT_EQ(cold_start(8), WallTime::seconds(200));
}

TEST(StartUp, NeverShrinksWithTheJob) {
    WallTime before;
    for (std::int64_t gpus = 8; gpus < 300'000; gpus += 5000) {
        EXPECT_GE(cold_start(gpus), before);
        EXPECT_GE(cold_start(gpus), communicator_creation(gpus));
        before = cold_start(gpus);
    }
}

// The case of ByteCheckpoint's table that it is made of.
TEST(StartUp, AgreementGrowsWithTheTreesDepth) {
    EXPECT_NEAR(checkpoint_agreement(1488).seconds(), 0.34, 1e-6);
    EXPECT_EQ(checkpoint_agreement(1), WallTime{});
    EXPECT_NEAR(checkpoint_agreement(1488 * 1488).seconds(), 0.68, 1e-6);
}

}  // namespace
}  // namespace orrery
