// SPDX-License-Identifier: Apache-2.0
// A plan of a search's space that its model, cluster and batch admit, and what is known of it.
#pragma once

#include <cstddef>
#include <optional>

#include "scenarios/answer.h"
#include "scenarios/search/plan_bound.h"
#include "scenarios/search/score.h"

namespace orrery {

struct Candidate {
    ParallelPlan plan;
    std::size_t cluster = 0;  // index into SearchSpec::clusters
    Bound bound;
    double objective_bound = 0;
    double guess = 0;    // of the objective
    bool tried = false;  // simulated without contention, or found not to fit
    // Once simulated without contention, and on the scenario's network.
    std::optional<double> analytic;
    std::optional<Answer> answer;
    double goodput = 1;  // of its campaign, where that counts
    Bytes memory;        // peak, once simulated; 0 while only the step has been timed

    // The objective of a plan that was simulated on the network. No campaign is better than one
    // without faults, so the bounds of the step hold.
    double objective(const Score& score, const SearchSpec& spec) const {
        return score.of(answer->iteration, spec.clusters[cluster]) / goodput;
    }
};

}  // namespace orrery
