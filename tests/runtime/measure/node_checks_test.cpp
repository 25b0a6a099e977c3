// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/node_checks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "tests/runtime/communication/local_ranks.h"

namespace orrery {
namespace {

// Each exchange takes so much longer.
class SlowTransport final : public Transport {
public:
    SlowTransport(std::unique_ptr<Transport> own, std::chrono::milliseconds more)
        : own_(std::move(own)), more_(more) {}
    std::uint32_t rank() const override { return own_->rank(); }
    std::uint32_t num_ranks() const override { return own_->num_ranks(); }
    Result<void> exchange(std::span<const Message> messages) override {
        Result<void> done = own_->exchange(messages);
        std::this_thread::sleep_for(more_);
        return done;
    }
    Result<void> post_send(const Message& message) override { return own_->post_send(message); }
    Result<void> flush() override { return own_->flush(); }

private:
    std::unique_ptr<Transport> own_;
    std::chrono::milliseconds more_;
};

NodeChecks checks_of(std::uint32_t ranks, std::uint32_t slow) {
    std::mutex mutex;
    std::vector<NodeChecks> all;
    run_as_ranks(ranks, [&](std::unique_ptr<Transport> transport) {
        if (transport->rank() == slow) {
            transport = std::make_unique<SlowTransport>(std::move(transport),
                                                        std::chrono::milliseconds{60});
        }
        auto checks = check_nodes(*transport, {.bytes = 1 << 16, .repeats = 2});
        ASSERT_TRUE(checks) << checks.error().to_string();
        const std::lock_guard lock{mutex};
        all.push_back(std::move(*checks));
    });
    EXPECT_EQ(all.size(), ranks);
    for (const NodeChecks& one : all) {
        EXPECT_EQ(one.pair_rate, all.front().pair_rate);
    }
    return all.front();
}

TEST(NodeChecks, MeasureEveryPairOnce) {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 5u}) {
        const NodeChecks checks = checks_of(ranks, ranks);
        for (std::uint32_t a = 0; a < ranks; ++a) {
            EXPECT_GT(checks.compute_s[a], 0);
            EXPECT_GT(checks.memory_rate[a], 0);
            EXPECT_EQ(checks.neighbours_s[a] > 0, ranks > 1);
            for (std::uint32_t b = 0; b < ranks; ++b) {
                EXPECT_EQ(checks.pair_rate[a * ranks + b] > 0, a != b) << ranks << a << b;
            }
        }
    }
}

TEST(NodeChecks, WhoseConnectionIsSlowIsSuspectedAndNobodyElse) {
    const NodeChecks checks = checks_of(4, 2);
    bool found = false;
    for (const Suspect& one : suspects(checks)) {
        const bool of_connection = one.what.find("connection") != std::string::npos;
        EXPECT_TRUE(!of_connection || one.rank == 2) << one.rank << one.what;
        found = found || (of_connection && one.rank == 2);
    }
    EXPECT_TRUE(found);
}

NodeChecks healthy(std::uint32_t ranks) {
    NodeChecks checks;
    checks.num_ranks = ranks;
    checks.compute_s.assign(ranks, 1e-3);
    checks.memory_rate.assign(ranks, 1e10);
    checks.pair_rate.assign(std::size_t{ranks} * ranks, 1e9);
    checks.neighbours_s.assign(ranks, 1e-3);
    return checks;
}

TEST(NodeChecks, SuspectsAreFarFromTheMedian) {
    EXPECT_TRUE(suspects(healthy(4)).empty());
    NodeChecks checks = healthy(4);
    checks.compute_s[1] = 2e-3;
    checks.memory_rate[3] = 4e9;
    const std::vector<Suspect> found = suspects(checks);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].rank, 1u);
    EXPECT_EQ(found[0].what, "it computes 2.00 times as long as the median");
    EXPECT_EQ(found[1].rank, 3u);
    // One bad pair among good ones is no rank's fault.
    checks = healthy(4);
    checks.pair_rate[1] = 1e8;
    EXPECT_TRUE(suspects(checks).empty());
}

}  // namespace
}  // namespace orrery
