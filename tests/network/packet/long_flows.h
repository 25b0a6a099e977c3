// SPDX-License-Identifier: Apache-2.0
// N long flows through one bottleneck, a cable between two leaves: how evenly they share it, how
// full it is, and how long its queue.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/network/packet/packet_cases.h"

namespace orrery::testing {

struct Sharing {
    double jain = 0;         // (sum x)^2 / (n sum x^2) of the bytes delivered
    double utilisation = 0;  // of the bottleneck, payload and headers
    double queue = 0;        // bytes, mean of samples
    std::int64_t queue_max = 0;
    packet::Totals totals;
};

// Measured from `settled` to `end`; flow i starts at i x `stagger`.
inline Sharing share_bottleneck(const packet::PacketParameters& parameters,
                                std::uint32_t n,
                                Bandwidth rate,
                                Time settled,
                                Time end,
                                Time stagger = Time{}) {
    const Time link = Time::picoseconds(1'000'000);
    const packet::Topology topology = topology_of(leaf_spine(2, n, 1, rate, link));
    packet::Simulation simulation = simulation_of(topology, parameters);
    for (std::uint32_t i = 0; i < n; ++i) {
        (void)simulation.add_flow({.source = i,
                                   .destination = n + i,
                                   .bytes = Bytes{1'000'000'000},
                                   .start = stagger * i});
    }
    const std::uint32_t bottleneck = topology.leaf_uplink(0, 0);
    std::vector<std::uint32_t> ended;
    std::vector<double> received(n);
    simulation.run_until(settled, ended);
    for (std::uint32_t i = 0; i < n; ++i) {
        received[i] = -static_cast<double>(simulation.flow(i).bytes_received);
    }
    const std::int64_t sent = simulation.port(bottleneck).bytes;
    Sharing sharing;
    constexpr int kSamples = 2000;
    for (int i = 1; i <= kSamples; ++i) {
        const std::int64_t span = (end - settled).picoseconds();
        simulation.run_until(settled + Time::picoseconds(span / kSamples * i), ended);
        sharing.queue += static_cast<double>(simulation.queue_bytes(bottleneck)) / kSamples;
    }
    double sum = 0;
    double squares = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
        received[i] += static_cast<double>(simulation.flow(i).bytes_received);
        sum += received[i];
        squares += received[i] * received[i];
    }
    sharing.jain = sum * sum / (n * squares);
    const double bytes = static_cast<double>(simulation.port(bottleneck).bytes - sent);
    sharing.utilisation =
        bytes * 8 /
        (static_cast<double>(rate.bits_per_second()) * (simulation.now() - settled).seconds());
    sharing.queue_max = simulation.port(bottleneck).queue_max;
    sharing.totals = simulation.totals();
    return sharing;
}

}  // namespace orrery::testing
