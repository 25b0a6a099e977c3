// SPDX-License-Identifier: Apache-2.0
// What became of the plans that a search does not answer with: each is counted once, under the
// reason for which it was left out.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace orrery {

struct LeftOut {
    std::map<std::string, std::int64_t> rules{};  // that the model, the cluster or the batch has
    std::int64_t same_plan = 0;                   // as another one of the space
    // More than a GPU's memory, later than the deadline, dearer than the budget: by a bound or by a
    // simulation.
    std::int64_t memory = 0;
    std::int64_t deadline = 0;
    std::int64_t budget = 0;
    std::int64_t bound = 0;           // no better than the best by its bound
    std::int64_t slower = 0;          // no better than the best even without contention
    std::int64_t not_on_network = 0;  // could be better, and was simulated without contention only
    std::int64_t ran_out = 0;         // could be better, and the simulations ran out
    std::int64_t interrupted = 0;     // could be better, and the search was interrupted

    // What the plans nearest to a limit need: a share of a GPU's memory, days, money. At least,
    // where a bound refused them.
    static constexpr double kNone = std::numeric_limits<double>::infinity();
    double least_memory = kNone;
    double least_days = kNone;
    double least_money = kNone;

    // Those of another part of the space as well.
    LeftOut& operator+=(const LeftOut& other);
    // Plans that could be better than the best that was found.
    std::int64_t unsimulated() const { return not_on_network + ran_out + interrupted; }
    std::int64_t total() const;
    // What is not zero, with its reason, the rules first.
    std::vector<std::pair<std::string, std::int64_t>> rows() const;
};

}  // namespace orrery
