// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/responses.h"

#include <gtest/gtest.h>

#include "engine/base/units.h"

namespace orrery {
namespace {

using namespace literals;

TEST(Responses, OneThreadOfAnInstanceSendsThemInTurn) {
    Responses responses{3_ms, 1};
    EXPECT_EQ(responses.through(0, 10_ms, 0, 1, false), 13_ms);
    EXPECT_EQ(responses.through(0, 10_ms, 5, 1, false), 16_ms);
    EXPECT_EQ(responses.through(1, 10_ms, 5, 1, false), 13_ms);
    EXPECT_EQ(responses.through(0, 12_ms, 5, 1, true), 19_ms);
    EXPECT_EQ(responses.through(0, 30_ms, 6, 1, false), 33_ms);
    Responses at_once{Time{}, 1};
    EXPECT_EQ(at_once.through(0, 10_ms, 0, 1, false), 10_ms);
}

// The first token is sent alone, the others together, and the last ones without waiting for more.
TEST(Responses, TokensShareAResponse) {
    Responses responses{3_ms, 4};
    EXPECT_EQ(responses.through(0, 10_ms, 0, 1, false), 13_ms);
    EXPECT_FALSE(responses.through(0, 20_ms, 1, 1, false));
    EXPECT_FALSE(responses.through(0, 30_ms, 2, 1, false));
    EXPECT_EQ(responses.through(0, 40_ms, 3, 1, false), 43_ms);
    EXPECT_FALSE(responses.through(0, 50_ms, 4, 1, false));
    EXPECT_EQ(responses.through(0, 60_ms, 5, 1, true), 63_ms);
    EXPECT_EQ(responses.through(0, 70_ms, 6, 3, false), 73_ms);  // proposals over a boundary
}

}  // namespace
}  // namespace orrery
