// SPDX-License-Identifier: Apache-2.0
#include "engine/world/time_alone.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/engine/naive_rates.h"

namespace orrery {
namespace {

// Against a solver that knows nothing of phases: start all parts, wait for the last.
TEST(TimeAlone, IsWhatTheSharingRuleSays) {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        std::mt19937_64 random(seed);
        const auto below = [&](std::uint64_t n) {
            return static_cast<std::uint32_t>(random() % n);
        };
        std::vector<LinkInfo> links(4);
        for (LinkInfo& link : links) {
            link.capacity = Bandwidth::bits_per_second(1'000'000'000 + below(1'000'000'000));
        }
        Transfers transfers;
        Phase phase;
        phase.num_parts = 1 + below(4);
        NaiveRates rates(links);
        std::size_t left = 0;
        for (std::uint32_t p = 0; p < phase.num_parts; ++p) {
            Part part;
            part.first_share = static_cast<std::uint32_t>(transfers.shares.size());
            part.bytes = Bytes{below(5) * 100'000};
            std::int64_t cap = 200'000'000 + below(1'500'000'000);
            for (std::uint32_t l = below(4); l < 4; l += 1 + below(3)) {
                transfers.shares.push_back({LinkId{l}, 1 + below(3)});
                cap = std::min(cap,
                               links[l].capacity.bits_per_second() / transfers.shares.back().count);
                ++part.num_shares;
            }
            part.rate_max = Bandwidth::bits_per_second(cap);
            transfers.parts.push_back(part);
            if (part.bytes > Bytes{}) {
                rates.start(
                    {}, rates.add_footprint(transfers.shares_of(part)), part.bytes, part.rate_max);
                ++left;
            }
        }
        Time end;
        for (std::vector<FlowId> ended; left > 0; left -= ended.size()) {
            rates.settle(end);
            end = rates.next_completion();
            rates.pop_completed(end, ended);
        }
        EXPECT_EQ(time_alone(transfers, phase, links, true), end) << "seed " << seed;
        EXPECT_LE(time_alone(transfers, phase, links, false), end) << "seed " << seed;
    }
}

}  // namespace
}  // namespace orrery
