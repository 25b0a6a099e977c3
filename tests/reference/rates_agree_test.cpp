// SPDX-License-Identifier: Apache-2.0
// The fluid model's rates and ends against max-min filling from nothing at every instant.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "network/fluid/fluid.h"
#include "tests/reference/dice.h"
#include "tests/reference/max_min.h"
#include "tests/reference/table_network.h"

namespace orrery::reference {
namespace {

using namespace orrery::literals;

struct InFlight {
    TransferPart part;
    __int128 left = 0;  // bit * ps
};

TableNetworkShape random_shape(Dice& dice) {
    const auto rate = [&](std::int64_t high) {
        return Bandwidth::bits_per_second(dice.between<std::int64_t>(high / 100, high));
    };
    return {.num_ranks = dice.between(2u, 40u),
            .ranks_per_node = dice.between(1u, 8u),
            .nodes_per_leaf = dice.between(1u, 3u),
            .uplinks_per_leaf = dice.between(1u, 4u),
            // Round numbers make ties, others make roundings.
            .nvlink = dice.chance(30) ? 24_Gbps : rate(2'000'000'000'000),
            .nic = dice.chance(30) ? 12_Gbps : rate(400'000'000'000),
            .uplink = dice.chance(30) ? 12_Gbps : rate(800'000'000'000),
            .channels = dice.between(1u, 3u),
            .rate_max = dice.chance(50) ? Bandwidth{} : rate(400'000'000'000),
            .salt = dice.next()};
}

// The parts of a random send or all-reduce.
std::vector<TransferPart> random_parts(const TableNetwork& network,
                                       std::uint32_t num_ranks,
                                       Dice& dice) {
    const Bytes bytes{dice.between<std::int64_t>(1, 5'000'000)};
    std::vector<RankId> members;
    for (std::uint32_t r = 0; r < num_ranks; ++r) {
        if (dice.chance(30)) {
            members.push_back(to_id<RankId>(r));
        }
    }
    if (members.size() < 2) {
        const std::uint32_t from = dice.between(0u, num_ranks - 1);
        const std::uint32_t to = (from + dice.between(1u, num_ranks - 1)) % num_ranks;
        return network.plan(SendCall{bytes}, std::array{to_id<RankId>(from), to_id<RankId>(to)})
            .phases[0]
            .parts;
    }
    if (dice.chance(60)) {
        members.resize(2);
    }
    const CollectiveCall call{.kind = static_cast<CollectiveKind>(dice.between(0, 4)),
                              .bytes = bytes};
    return network.plan(call, members).phases[0].parts;
}

// Starts, ends and settles at random; stops at the first difference.
void run(std::uint64_t seed) {
    Dice dice{seed};
    const TableNetworkShape shape = random_shape(dice);
    const TableNetwork network{shape};
    FluidRates fluid{network.links()};
    std::map<FlowId, InFlight> flows;
    Time now;
    for (int instant = 0; instant < 60; ++instant) {
        const std::uint32_t starts = instant < 40 ? dice.between(0u, 4u) : 0;
        for (std::uint32_t s = 0; s < starts; ++s) {
            for (const TransferPart& part : random_parts(network, shape.num_ranks, dice)) {
                const FlowId id = fluid.start(
                    now, fluid.add_footprint(part.footprint), part.bytes, part.rate_max);
                ASSERT_FALSE(flows.contains(id));
                flows[id] = {.part = part,
                             .left = __int128{part.bytes.count()} * 8 * 1'000'000'000'000};
            }
        }
        fluid.settle(now);
        std::vector<MaxMinFlow> filling;
        for (const auto& [id, flow] : flows) {
            filling.push_back({.footprint = flow.part.footprint, .rate_max = flow.part.rate_max});
        }
        const std::vector<std::int64_t> rates = max_min_rates(network.links(), filling);
        __int128 first_end = Time::max().picoseconds();
        std::size_t f = 0;
        for (const auto& [id, flow] : flows) {
            ASSERT_EQ(fluid.rate(id).bits_per_second(), rates[f]) << "flow " << index(id);
            if (rates[f] > 0) {
                const __int128 wait = (flow.left + rates[f] - 1) / rates[f];
                first_end = std::min(first_end, now.picoseconds() + wait);
            }
            ++f;
        }
        const Time next = Time::picoseconds(static_cast<std::int64_t>(first_end));
        ASSERT_EQ(fluid.next_completion(), next);
        if (next == Time::max()) {
            continue;
        }
        // Sometimes stop on the way.
        const Time then =
            next - now > Time::picoseconds(1) && dice.chance(30)
                ? Time::picoseconds(now.picoseconds() + (next - now).picoseconds() / 2)
                : next;
        std::vector<FlowId> expected;
        f = 0;
        for (auto& [id, flow] : flows) {
            flow.left -= __int128{rates[f++]} * (then - now).picoseconds();
            if (flow.left <= 0) {
                expected.push_back(id);
            }
        }
        now = then;
        std::vector<FlowId> ended;
        fluid.pop_completed(now, ended);
        ASSERT_EQ(ended, expected);
        for (const FlowId id : ended) {
            flows.erase(id);
        }
    }
}

TEST(FluidRates, AreTheMaxMinRatesAtEveryInstant) {
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        run(seed);
        if (HasFatalFailure()) {
            return;
        }
    }
}

}  // namespace
}  // namespace orrery::reference
