// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/nic_name.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(NicName, IsItsNodeAndItsNumber) {
    EXPECT_EQ(nic_of_name("node 3 nic 0"), (NicPort{.node = 3, .nic = 0}));
    EXPECT_EQ(nic_of_name("node 12 nic 7"), (NicPort{.node = 12, .nic = 7}));
}

TEST(NicName, NothingElseIsOne) {
    for (const char* name : {"",
                             "node",
                             "node 3",
                             "node 3 nic",
                             "node 3 nic 0 ",
                             "node -1 nic 0",
                             "node 3 nic x",
                             "node 99999999999 nic 0",
                             "leaf 3 nic 0"}) {
        EXPECT_EQ(nic_of_name(name), std::nullopt) << name;
    }
}

}  // namespace
}  // namespace orrery
