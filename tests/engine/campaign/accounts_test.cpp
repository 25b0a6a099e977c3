// SPDX-License-Identifier: Apache-2.0
#include "engine/campaign/accounts.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

TEST(Accounts, AddUpToWallTimeTimesNodes) {
    Accounts accounts;
    accounts.add(NodeUse::productive, WallTime::seconds(10), 7);
    accounts.add(NodeUse::spare, WallTime::seconds(10), 1);
    accounts.audit(WallTime::seconds(10), 8);
    accounts.move(NodeUse::productive, NodeUse::lost, 30'000'000);
    accounts.audit(WallTime::seconds(10), 8);
    EXPECT_EQ(accounts[NodeUse::lost], 30'000'000);
    EXPECT_EQ(accounts[NodeUse::productive], 40'000'000);
}

TEST(AccountsDeathTest, AMissingMicrosecondStopsTheProgram) {
    Accounts accounts;
    accounts.add(NodeUse::productive, WallTime::microseconds(9), 1);
    EXPECT_DEATH(accounts.audit(WallTime::microseconds(10), 1), "total");
    accounts.move(NodeUse::lost, NodeUse::productive, 1);
    EXPECT_DEATH(accounts.audit(WallTime::microseconds(9), 1), "v >= 0");
}

TEST(Accounts, EveryUseHasAName) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < kNumNodeUses; ++i) {
        EXPECT_TRUE(names.insert(name(static_cast<NodeUse>(i))).second);
    }
}

}  // namespace
}  // namespace orrery
