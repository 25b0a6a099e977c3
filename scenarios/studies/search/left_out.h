// SPDX-License-Identifier: Apache-2.0
// The plans that a search does not return. Each is counted once, under the reason for which it was
// left out.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace orrery {

struct LeftOut {
    std::map<std::string, std::int64_t> rules{};  // by rule of the model, the cluster or the batch
    std::int64_t same_plan = 0;                   // equal to another plan of the space
    // Over a GPU's memory, the deadline or the budget, according to a bound or a simulation.
    std::int64_t memory = 0;
    std::int64_t deadline = 0;
    std::int64_t budget = 0;
    std::int64_t bound = 0;           // not better than the best, according to its bound
    std::int64_t slower = 0;          // not better than the best, even without contention
    std::int64_t not_on_network = 0;  // possibly better, but simulated only without contention
    std::int64_t ran_out = 0;         // possibly better, but the simulations ran out
    std::int64_t interrupted = 0;     // possibly better, but the search was interrupted

    // The smallest needs among plans over a limit: share of a GPU's memory, days, money. They are
    // lower bounds for plans that a bound refused.
    static constexpr double kNone = std::numeric_limits<double>::infinity();
    double least_memory = kNone;
    double least_days = kNone;
    double least_money = kNone;

    // Adds the plans of another part of the space.
    LeftOut& operator+=(const LeftOut& other);
    // The number of plans that could be better than the best found plan.
    std::int64_t unsimulated() const { return not_on_network + ran_out + interrupted; }
    std::int64_t total() const;
    // The non-zero counts with their reasons, rules first.
    std::vector<std::pair<std::string, std::int64_t>> rows() const;
};

}  // namespace orrery
