// SPDX-License-Identifier: Apache-2.0
// Random networks, traffic, parameters and faults, and what must hold for all of them.
#include <gtest/gtest.h>

#include "tests/network/packet/packet_cases.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

class Dice {
public:
    explicit Dice(std::uint64_t seed) : state_(seed) {}
    std::uint32_t below(std::uint32_t n) {
        state_ = mix64(state_ + 0x9e3779b97f4a7c15);
        return static_cast<std::uint32_t>((state_ >> 32) % n);
    }
    bool chance(std::uint32_t one_in) { return below(one_in) == 0; }

private:
    std::uint64_t state_;
};

ClosShape random_shape(Dice& dice) {
    ClosShape shape{.hosts_per_leaf = 1 + dice.below(4),
                    .leaves_per_block = 1 + dice.below(3),
                    .num_blocks = 1 + dice.below(3),
                    .tier2_per_block = 1 + dice.below(3),
                    .leaf_cables = 1 + dice.below(2),
                    .cores_per_plane = 1 + dice.below(2),
                    .core_cables = 1 + dice.below(2),
                    .host_rate = Bandwidth::bits_per_second(10'000'000'000 * (1 + dice.below(40))),
                    .host_latency = Time::picoseconds(dice.below(2'000'000)),
                    .link_latency = Time::picoseconds(dice.below(2'000'000))};
    if (dice.chance(3)) {
        shape.uplink_rate = shape.host_rate * 4;
    }
    if (shape.num_hosts() < 2) {
        shape.hosts_per_leaf = 3;
    }
    return shape;
}

PacketParameters random_parameters(Dice& dice) {
    PacketParameters p = published_parameters(static_cast<CongestionKind>(dice.below(9)));
    if (p.recovery == RecoveryKind::selective && p.congestion != CongestionKind::swift) {
        p.spray = static_cast<SprayKind>(dice.below(5));
        p.num_paths = 1U << dice.below(8);
        p.trimming = !dice.chance(4);
    } else if (dice.chance(3)) {
        p.pfc.kind = PfcKind::off;  // drops
        p.retry_exponent = 6;
    } else if (dice.chance(2)) {
        p.pfc.kind = PfcKind::fixed;
    }
    p.packet_bytes = 200 + dice.below(9000);
    if (dice.chance(3)) {
        p.ack_every_bytes = dice.below(40'000);
    }
    if (dice.chance(3)) {
        p.control_priority = false;
    }
    p.seed = dice.below(1000);
    return p;
}

struct Run {
    Totals totals;
    std::vector<Time> ends;
    std::vector<FlowState> states;
    bool operator==(const Run&) const = default;
};

Run run_once(std::uint64_t seed, bool with_faults) {
    Dice dice(seed);
    const Topology topology = topology_of(random_shape(dice));
    PacketParameters p = random_parameters(dice);
    if (with_faults) {
        p.reroute_after = dice.chance(2) ? Time::max() : Time::picoseconds(dice.below(100'000'000));
    }
    Simulation simulation = simulation_of(topology, p);
    const std::uint32_t hosts = topology.num_hosts();
    std::vector<std::int64_t> bytes;
    const std::uint32_t num_flows = 1 + dice.below(30);
    for (std::uint32_t i = 0; i < num_flows; ++i) {
        const std::uint32_t source = dice.below(hosts);
        const std::uint32_t target = dice.chance(3) ? 0 : dice.below(hosts);
        if (source == target) {
            continue;
        }
        bytes.push_back(dice.below(dice.chance(5) ? 1'000'000 : 100'000));
        EXPECT_TRUE(simulation.add_flow({.source = source,
                                         .destination = target,
                                         .bytes = Bytes{bytes.back()},
                                         .start = Time::picoseconds(dice.below(50'000'000)),
                                         .label = dice.below(5)}));
    }
    for (std::uint32_t i = 0; with_faults && i < 3; ++i) {
        const std::uint32_t port = dice.below(topology.num_ports());
        const Time at = Time::picoseconds(dice.below(100'000'000));
        const bool dies = dice.chance(2);
        simulation.set_rate(
            at, port, dies ? Bandwidth{} : Bandwidth::bits_per_second(1'000'000'000));
        if (dice.chance(2)) {
            simulation.set_rate(
                at + Time::picoseconds(dice.below(400'000'000)), port, topology.port(port).rate);
        }
    }
    simulation.run();
    Run run{.totals = simulation.totals()};
    EXPECT_EQ(simulation.num_unfinished(), 0U);
    std::int64_t sent = 0;
    for (std::uint32_t i = 0; i < simulation.num_flows(); ++i) {
        const FlowResult flow = simulation.flow(i);
        run.ends.push_back(flow.end);
        run.states.push_back(flow.state);
        sent += flow.packets_sent;
        EXPECT_LE(flow.bytes_received, bytes[i]);
        if (flow.state == FlowState::finished) {
            EXPECT_EQ(flow.bytes_received, bytes[i]);
            EXPECT_GE(flow.end, flow.delivered);
        }
        if (!with_faults) {
            EXPECT_EQ(flow.state, FlowState::finished) << simulation.waits()[0];
        }
    }
    EXPECT_EQ(sent, run.totals.data_packets);
    EXPECT_EQ(run.totals.out_of_path_order, 0);
    const bool lossless = p.pfc.kind != PfcKind::off;
    if (lossless) {
        EXPECT_EQ(run.totals.dropped, 0);
        if (!with_faults) {
            EXPECT_EQ(run.totals.repeated, 0);
        }
    }
    return run;
}

TEST(PacketFuzz, EveryFlowOfALiveNetworkArrivesOnceAndWhole) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        SCOPED_TRACE(seed);
        run_once(seed, false);
        if (::testing::Test::HasFailure()) {
            return;
        }
    }
}

TEST(PacketFuzz, UnderFaultsEveryFlowEndsAndSoDoesTheRun) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        SCOPED_TRACE(seed);
        run_once(seed, true);
        if (::testing::Test::HasFailure()) {
            return;
        }
    }
}

TEST(PacketFuzz, SameSeedSameRun) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        EXPECT_EQ(run_once(seed, true), run_once(seed, true)) << seed;
    }
}

}  // namespace
}  // namespace orrery::packet
