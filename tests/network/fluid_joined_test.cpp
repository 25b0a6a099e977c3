// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "network/fluid.h"

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
    std::map<FlowId, std::uint32_t> message_of_part;    // of those apart
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

TEST(FluidJoined, PartsThatShareNoLinkAreNotJoined) {
    const std::vector<LinkInfo> links(2, {.capacity = 1_GBps});
    FluidRates rates(links);
    const std::vector parts{rates.add_footprint(std::vector{on(0)}),
                            rates.add_footprint(std::vector{on(1)})};
    EXPECT_FALSE(rates.join_footprints(parts).has_value());
}

}  // namespace
}  // namespace orrery
