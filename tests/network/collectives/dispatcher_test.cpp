// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/dispatcher.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace orrery {
namespace {

TEST(Dispatcher, NamesAreDistinctAndFound) {
    std::set<std::string_view> names;
    for (const Dispatcher& each : dispatchers()) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name;
        EXPECT_EQ(find_dispatcher(each.name), &each);
    }
    EXPECT_EQ(names.size(), 8u);
    EXPECT_EQ(find_dispatcher("pigeon"), nullptr);
}

TEST(Dispatcher, HaveNumbersFromOneOn) {
    std::uint8_t number = 0;
    EXPECT_EQ(numbered_dispatcher(number), nullptr);
    for (const Dispatcher& each : dispatchers()) {
        EXPECT_EQ(numbered_dispatcher(++number), &each);
    }
    EXPECT_EQ(numbered_dispatcher(++number), nullptr);
}

TEST(Dispatcher, OnlyKernelsHoldSms) {
    for (const Dispatcher& each : dispatchers()) {
        EXPECT_TRUE(each.engine == TransferEngine::sm || each.sms == 0) << each.name;
        EXPECT_EQ(each.sms % each.channel_sms, 0u) << each.name;
        EXPECT_GE(each.dispatch_calls, 1u) << each.name;
    }
}

// Memory sized by counts that the device found out has to wait for them.
TEST(Dispatcher, StaticBuffersNeedNoSync) {
    for (const char* name : {"alltoall", "hierarchical", "2dh", "deepep", "hybridep"}) {
        EXPECT_TRUE(find_dispatcher(name)->host_sync) << name;
    }
    for (const char* name : {"allgather", "deepep_low_latency", "host_driven"}) {
        EXPECT_FALSE(find_dispatcher(name)->host_sync) << name;
    }
}

}  // namespace
}  // namespace orrery
