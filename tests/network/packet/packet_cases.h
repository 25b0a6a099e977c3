// SPDX-License-Identifier: Apache-2.0
// The traffic that the packet model is judged by, and what comes out of it: completion times in
// microseconds, as senders see them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "network/packet/draw.h"
#include "network/packet/simulation.h"
#include "tests/network/packet/clos_shapes.h"

namespace orrery::testing {

struct Outcome {
    std::vector<double> fct_us;  // sorted
    packet::Totals totals;
    double min() const { return fct_us.front(); }
    double median() const { return fct_us[fct_us.size() / 2]; }
    double p99() const { return fct_us[(fct_us.size() - 1) * 99 / 100]; }
    double max() const { return fct_us.back(); }
};

// One random cycle through all hosts (Sattolo, 1986): each sends to one other, none to itself.
inline std::vector<std::uint32_t> random_cycle(std::uint32_t n, std::uint64_t seed) {
    std::vector<std::uint32_t> next(n);
    std::iota(next.begin(), next.end(), 0U);
    for (std::uint32_t i = n - 1; i > 0; --i) {
        const std::uint64_t random = packet::mix64(seed * 1'000'003 + i + 0x9e3779b97f4a7c15);
        std::swap(next[i], next[random % i]);
    }
    return next;
}

inline packet::Topology topology_of(const packet::ClosShape& shape) {
    return packet::Topology::build(shape).value();
}

inline packet::Simulation simulation_of(const packet::Topology& topology,
                                        const packet::PacketParameters& parameters) {
    auto simulation = packet::Simulation::create(topology, parameters);
    if (!simulation) {
        std::fprintf(stderr, "%s\n", simulation.error().to_string().c_str());
        std::abort();
    }
    return std::move(*simulation);
}

inline Outcome run_flows(const packet::Topology& topology,
                         const packet::PacketParameters& parameters,
                         const std::vector<packet::FlowSpec>& flows) {
    packet::Simulation simulation = simulation_of(topology, parameters);
    for (const packet::FlowSpec& flow : flows) {
        if (!simulation.add_flow(flow)) {
            std::abort();
        }
    }
    simulation.run();
    Outcome outcome;
    for (std::uint32_t i = 0; i < simulation.num_flows(); ++i) {
        const packet::FlowResult result = simulation.flow(i);
        const bool finished = result.state == packet::FlowState::finished;
        outcome.fct_us.push_back(finished ? (result.end - result.start).microseconds()
                                          : std::nan(""));
    }
    std::sort(outcome.fct_us.begin(), outcome.fct_us.end());
    outcome.totals = simulation.totals();
    return outcome;
}

inline std::vector<packet::FlowSpec> permutation(std::uint32_t n, Bytes bytes, std::uint64_t seed) {
    std::vector<packet::FlowSpec> flows;
    const std::vector<std::uint32_t> to = random_cycle(n, seed);
    for (std::uint32_t host = 0; host < n; ++host) {
        flows.push_back({.source = host, .destination = to[host], .bytes = bytes});
    }
    return flows;
}

// `n` senders to host 0, spread evenly over the hosts.
inline std::vector<packet::FlowSpec> incast(std::uint32_t num_hosts, std::uint32_t n, Bytes bytes) {
    std::vector<packet::FlowSpec> flows;
    for (std::uint32_t i = 1; i <= n; ++i) {
        const auto source = static_cast<std::uint32_t>(std::uint64_t{i} * (num_hosts - 1) / n);
        flows.push_back({.source = source, .destination = 0, .bytes = bytes});
    }
    return flows;
}

}  // namespace orrery::testing
