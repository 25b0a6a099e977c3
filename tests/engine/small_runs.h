// SPDX-License-Identifier: Apache-2.0
// Runs programs that are small enough to work out by hand. One byte over a link of 8 Gb/s takes one
// nanosecond.
#pragma once

#include <gtest/gtest.h>

#include "engine/world/simulated_executor.h"
#include "tests/engine/naive_rates.h"
#include "tests/engine/program_builder.h"
#include "tests/engine/scripted_network.h"

namespace orrery::small_runs {

using namespace orrery::literals;

inline constexpr std::int64_t kBytePerNanosecond = 8'000'000'000;
inline constexpr RankId kRank0{0};
inline constexpr RankId kRank1{1};

inline SimulationResult run(const SimulationInput& input) {
    NaiveRates rates(input.network->links());
    SimulationOutcome outcome = simulate(input, rates);
    EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().to_string());
    return outcome ? *outcome : SimulationResult{};
}

inline TracedOp traced(const SimulationResult& result,
                       RankId rank,
                       std::uint32_t op,
                       std::uint32_t step = 0) {
    for (const TracedOp& t : result.trace) {
        if (t.rank == rank && t.op == op && t.step == step) {
            return t;
        }
    }
    ADD_FAILURE() << "op " << op << " of rank " << index(rank) << " is not in the trace";
    return {};
}

inline SendRecvPart send(std::int64_t bytes, int delta = 1) {
    return {true, 0, delta, -1, Bytes{bytes}, 0};
}
inline SendRecvPart receive(std::int64_t bytes, int delta = -1) {
    return {false, 0, delta, -1, Bytes{bytes}, 0};
}

// Links 0 … 3; a message from rank r goes over link r.
inline ScriptedNetwork two_ranks() {
    ScriptedNetwork network(std::vector<std::int64_t>(4, kBytePerNanosecond));
    network.sends[{kRank0, kRank1}] = plan_over({0}, {});
    network.sends[{kRank1, kRank0}] = plan_over({1}, {});
    return network;
}

}  // namespace orrery::small_runs
