// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "network/fluid/fluid.h"

namespace orrery {
namespace {

using namespace literals;

LinkShare on(std::uint32_t link) {
    return {.link = LinkId{link}, .count = 1};
}

// Messages of several parts that share their first and last link, each with links of its own
// between, as one flow and as one for each part: all ends are the same.
void expect_joined_as_apart(std::uint32_t seed) {
    std::mt19937 dice(seed);
    const auto draw = [&](std::uint32_t from, std::uint32_t to) {
        return from + static_cast<std::uint32_t>(dice() % (to - from + 1));
    };
    constexpr std::uint32_t kPorts = 6;
    const std::uint32_t middle = draw(2, 8);
    std::vector<LinkInfo> links;
    for (std::uint32_t l = 0; l < 2 * kPorts + middle; ++l) {
        links.push_back({.capacity = Bandwidth::bits_per_second(
                             draw(0, 1) == 0 ? 1'000'000'000 : draw(400'000'000, 2'000'000'000))});
    }
    FluidRates joined(links);
    FluidRates apart(links);
    std::map<FlowId, std::uint32_t> message_of;         // of the joined
    std::map<FlowId, std::uint32_t> message_of_part;    // of the flows apart
    std::map<std::uint32_t, std::uint32_t> parts_left;  // of a message apart
    Time now;
    std::uint32_t messages = 0;
    for (int instant = 0; instant < 80; ++instant) {
        for (std::uint32_t n = instant < 60 ? draw(0, 3) : 0; n > 0; --n) {
            const std::uint32_t from = draw(0, kPorts - 1);
            const std::uint32_t to = kPorts + draw(0, kPorts - 1);
            const Bytes bytes{draw(1, 2'000'000)};
            const Bandwidth cap =
                draw(0, 2) > 0 ? Bandwidth{} : Bandwidth::bits_per_second(250'000'000);
            std::vector<FootprintId> parts;
            for (std::uint32_t p = draw(2, 3); p > 0; --p) {
                std::vector<LinkShare> shares{on(from), on(to)};
                if (draw(0, 3) > 0) {
                    shares.push_back(on(2 * kPorts + draw(0, middle - 1)));
                }
                parts.push_back(joined.add_footprint(shares));
                const FlowId id = apart.start(now, apart.add_footprint(shares), bytes, cap);
                message_of_part[id] = messages;
                ++parts_left[messages];
            }
            const auto all = joined.join_footprints(parts);
            ASSERT_TRUE(all.has_value());
            message_of[joined.start(now, *all, bytes, cap)] = messages++;
        }
        joined.settle(now);
        apart.settle(now);
        ASSERT_EQ(joined.next_completion(), apart.next_completion()) << "instant " << instant;
        if (apart.next_completion() == Time::max()) {
            continue;
        }
        now = apart.next_completion();
        std::vector<FlowId> ended;
        std::vector<std::uint32_t> expected;
        apart.pop_completed(now, ended);
        for (const FlowId id : ended) {
            if (--parts_left[message_of_part[id]] == 0) {
                expected.push_back(message_of_part[id]);
            }
        }
        joined.pop_completed(now, ended);
        std::vector<std::uint32_t> got;
        for (const FlowId id : ended) {
            got.push_back(message_of.at(id));
            message_of.erase(id);
        }
        std::ranges::sort(expected);
        std::ranges::sort(got);
        ASSERT_EQ(got, expected) << "instant " << instant;
    }
    EXPECT_EQ(joined.num_flows_started(), apart.num_flows_started());
}

TEST(FluidJoined, JoinedPartsEndAsIfEachWereAFlow) {
    for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        expect_joined_as_apart(seed);
        if (HasFatalFailure()) {
            return;
        }
    }
}

// Several such messages, each over ports of its own, as one flow: until one is slower than another.
class Bundled {
public:
    explicit Bundled(std::uint32_t seed) : dice_(seed) {
        for (std::uint32_t l = 0; l < 2 * kPorts + kMiddle; ++l) {
            links_.push_back(
                {.capacity = Bandwidth::bits_per_second(
                     draw(0, 4) > 0 ? 1'000'000'000 : draw(400'000'000, 2'000'000'000))});
        }
    }

    // How many joined flows came apart.
    int expect_same_ends() {
        FluidRates bundled(links_);
        FluidRates apart(links_);
        Time now;
        for (int instant = 0; instant < 60; ++instant) {
            for (std::uint32_t n = instant < 40 ? draw(0, 2) : 0; n > 0; --n) {
                start(bundled, apart, now);
            }
            bundled.settle(now);
            apart.settle(now);
            take_parted(bundled.parted());
            EXPECT_EQ(bundled.next_completion(), apart.next_completion()) << instant;
            now = apart.next_completion();
            if (now == Time::max() || testing::Test::HasFailure()) {
                now = last_;
                continue;
            }
            last_ = now;
            EXPECT_EQ(ended(bundled, messages_, now), ended(apart, message_apart_, now)) << instant;
        }
        EXPECT_EQ(bundled.num_flows_started(), apart.num_flows_started());
        return parted_;
    }

private:
    static constexpr std::uint32_t kPorts = 8;
    static constexpr std::uint32_t kMiddle = 6;
    using Messages = std::map<FlowId, std::vector<std::uint32_t>>;

    std::uint32_t draw(std::uint32_t from, std::uint32_t to) {
        return from + static_cast<std::uint32_t>(dice_() % (to - from + 1));
    }

    void start(FluidRates& bundled, FluidRates& apart, Time now) {
        const Bytes bytes{draw(1, 2'000'000)};
        const Bandwidth cap =
            draw(0, 2) > 0 ? Bandwidth{} : Bandwidth::bits_per_second(250'000'000);
        const std::uint32_t size = draw(2, 4);
        const std::uint32_t from = draw(0, kPorts - size);
        const std::uint32_t to = kPorts + draw(0, kPorts - size);
        const std::uint32_t parts = draw(1, 2);
        std::vector<FootprintId> flows;
        std::vector<std::uint32_t> messages;
        for (std::uint32_t m = 0; m < size; ++m) {
            std::vector<FootprintId> of_message;
            std::vector<FootprintId> of_message_apart;
            for (std::uint32_t p = 0; p < parts; ++p) {
                std::vector<LinkShare> shares{on(from + m), on(to + m)};
                if (draw(0, 3) == 0) {
                    shares.push_back(on(2 * kPorts + draw(0, kMiddle - 1)));
                }
                of_message.push_back(bundled.add_footprint(shares));
                of_message_apart.push_back(apart.add_footprint(shares));
            }
            flows.push_back(parts == 1 ? of_message[0] : *bundled.join_footprints(of_message));
            const FootprintId alone =
                parts == 1 ? of_message_apart[0] : *apart.join_footprints(of_message_apart);
            message_apart_[apart.start(now, alone, bytes, cap)] = {next_message_};
            messages.push_back(next_message_++);
        }
        messages_[bundled.start(now, *bundled.join_flows(flows), bytes, cap)] = messages;
    }

    void take_parted(std::span<const PartedFlow> parted) {
        Messages now_apart;
        for (const PartedFlow& one : parted) {
            std::vector<std::uint32_t>& left = messages_.at(one.whole);
            now_apart[one.flow] = {left.front()};
            left.erase(left.begin());
            if (left.empty()) {
                messages_.erase(one.whole);
                ++parted_;
            }
        }
        messages_.merge(now_apart);
        EXPECT_TRUE(now_apart.empty());
    }

    static std::vector<std::uint32_t> ended(FluidRates& rates, Messages& messages, Time now) {
        std::vector<FlowId> flows;
        rates.pop_completed(now, flows);
        std::vector<std::uint32_t> all;
        for (const FlowId flow : flows) {
            all.insert(all.end(), messages.at(flow).begin(), messages.at(flow).end());
            messages.erase(flow);
        }
        std::ranges::sort(all);
        return all;
    }

    std::mt19937 dice_;
    std::vector<LinkInfo> links_;
    Messages messages_;  // by flow
    Messages message_apart_;
    std::uint32_t next_message_ = 0;
    Time last_;
    int parted_ = 0;
};

TEST(FluidJoined, FlowsThatMoveAlikeEndAsIfEachWereOne) {
    int parted = 0;
    for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        parted += Bundled(seed).expect_same_ends();
        if (HasFailure()) {
            return;
        }
    }
    EXPECT_GT(parted, 1000);
}

TEST(FluidJoined, PartsThatShareNoLinkAreNotJoined) {
    const std::vector<LinkInfo> links(2, {.capacity = 1_GBps});
    FluidRates rates(links);
    const std::vector parts{rates.add_footprint(std::vector{on(0)}),
                            rates.add_footprint(std::vector{on(1)})};
    EXPECT_FALSE(rates.join_footprints(parts).has_value());
}

}  // namespace
}  // namespace orrery
