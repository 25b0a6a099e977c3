// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/drill.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>

#include "tests/test_folder.h"

namespace orrery {
namespace {

FaultEvent fault(FaultKind kind, std::int64_t step, std::uint32_t node) {
    FaultEvent event;
    event.kind = kind;
    event.step = step;
    event.nodes = {node, 1};
    return event;
}

TEST(Drill, OnlyWhatCanBeDoneToAProcessIsInjectable) {
    EXPECT_TRUE(check_injectable(fault(FaultKind::node_crash, 3, 0)));
    EXPECT_FALSE(check_injectable(fault(FaultKind::power_loss, 3, 0)));
    EXPECT_FALSE(check_injectable(fault(FaultKind::node_crash, -1, 0)));
}

class Sink final : public Transport {
public:
    std::uint32_t rank() const override { return 0; }
    std::uint32_t num_ranks() const override { return 2; }
    Result<void> exchange(std::span<const Message> messages) override {
        sent.assign(messages.front().bytes.begin(), messages.front().bytes.end());
        return {};
    }
    Result<void> post_send(const Message&) override { return {}; }
    Result<void> flush() override { return {}; }
    static std::vector<std::byte> sent;
};
std::vector<std::byte> Sink::sent;

// A member of node 1 in this process, whose reports are not read.
class DrillTest : public testing::Test {
protected:
    DrillTest() {
        EXPECT_EQ(pipe(to_), 0);
        EXPECT_EQ(pipe(from_), 0);
        setenv(
            kMemberVariable, (std::to_string(to_[0]) + "," + std::to_string(from_[1])).c_str(), 1);
        setenv(kNodeVariable, "1", 1);
        member_ = std::move(*Member::join());
        unsetenv(kMemberVariable);
    }
    int to_[2] = {};
    int from_[2] = {};
    std::unique_ptr<Member> member_;
};

TEST_F(DrillTest, StrikesOnceAtItsStepAndNode) {
    Drill drill{*member_,
                {fault(FaultKind::software_bug, 3, 1), fault(FaultKind::software_bug, 4, 2)},
                0,
                {}};
    EXPECT_TRUE(drill.before_step(2));
    EXPECT_FALSE(drill.before_step(3));
    EXPECT_TRUE(drill.before_step(3));
    EXPECT_TRUE(drill.before_step(4));  // another's
    Drill after{*member_, {fault(FaultKind::software_bug, 3, 1)}, 0, {0}};
    EXPECT_TRUE(after.before_step(3));
}

TEST_F(DrillTest, OneBitOfALargeMessageFlips) {
    Drill drill{*member_, {fault(FaultKind::silent_corruption, 0, 1)}, 0, {}};
    const auto transport = drill.harm(std::make_unique<Sink>());
    std::vector<std::byte> bytes(4096);
    const Message message{.is_send = true, .peer = 1, .tag = 1, .bytes = bytes};
    for (const int expected : {0, 1, 0}) {
        ASSERT_TRUE(transport->exchange({&message, 1}));
        int bits = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            bits += std::popcount(static_cast<unsigned>(bytes[i] ^ Sink::sent[i]));
        }
        EXPECT_EQ(bits, expected);
        ASSERT_TRUE(drill.before_step(0));
    }
}

TEST_F(DrillTest, NothingGetsThroughACutConnection) {
    Drill drill{*member_, {fault(FaultKind::nic_down, 0, 1)}, 0, {}};
    const auto transport = drill.harm(std::make_unique<Sink>());
    const Message message{.is_send = true, .peer = 1, .tag = 1, .bytes = {}};
    EXPECT_TRUE(transport->exchange({&message, 1}));
    ASSERT_TRUE(drill.before_step(0));
    EXPECT_FALSE(transport->exchange({&message, 1}));
    EXPECT_FALSE(transport->post_send(message));
}

// A new process does not heal its host.
TEST_F(DrillTest, WhatSlowsANodeLastsUntilItIsRepaired) {
    const auto took = [&](const std::vector<std::uint32_t>& lasting) {
        FaultEvent slow = fault(FaultKind::slow_host, 0, 1);
        slow.factor = 101;
        const Drill drill{*member_, {slow}, 0, {0}, lasting};
        const auto begin = std::chrono::steady_clock::now();
        drill.after_step(std::chrono::milliseconds{2});
        return std::chrono::steady_clock::now() - begin;
    };
    const auto slowed = took({0});
    EXPECT_GE(slowed, std::chrono::milliseconds{200});
    EXPECT_LT(took({}), slowed);
}

TEST_F(DrillTest, TheStoreComesBack) {
    const TestFolder folder;
    FaultEvent outage = fault(FaultKind::store_outage, 0, 1);
    outage.duration = WallTime::seconds(0.2);
    Drill drill{*member_, {outage}, 0, {}};
    EXPECT_TRUE(drill.store().create_folder(folder / "a"));
    ASSERT_TRUE(drill.before_step(0));
    EXPECT_FALSE(drill.store().create_folder(folder / "b"));
    EXPECT_FALSE(drill.store().write_file(folder / "c", {}));
    usleep(250'000);
    EXPECT_TRUE(drill.store().create_folder(folder / "b"));
}

}  // namespace
}  // namespace orrery
