// SPDX-License-Identifier: Apache-2.0
// Finds the best plan for a model on a cluster, or on the best of several clusters. Every point of
// the space gets an admissible bound (plan_bound.h). The most promising plans are simulated without
// contention, and the best of those on the network that the scenario asks for, until no bound lies
// below what has been found. Nothing that could win is left out unless the
// number of simulations runs out; then the answer says by how much it could be beaten.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/result.h"
#include "scenarios/answer.h"
#include "scenarios/scenario.h"
#include "scenarios/search/plan_bound.h"
#include "scenarios/search/search_spec.h"

namespace orrery {

struct FoundPlan {
    ParallelPlan plan;
    std::size_t cluster = 0;  // index into SearchSpec::clusters
    double objective = 0;     // less is better
    double bound = 0;         // of the objective
    double goodput = 1;       // under the scenario's faults, where it is the objective
    Answer answer;
};

struct SearchResult {
    std::int64_t points = 0;                     // of the space
    std::int64_t candidates = 0;                 // that the model, cluster and batch admit
    std::map<std::string, std::int64_t> pruned;  // by reason; with `simulated` they are all points
    std::int64_t simulated_analytic = 0;
    std::int64_t simulated = 0;     // on the scenario's network
    std::int64_t equal = 0;         // of these, as fast and large as another one: not listed
    std::vector<FoundPlan> best;    // best first
    std::vector<FoundPlan> pareto;  // of time, memory and cost: none of these beats another in all
    // How much of the best objective a plan that was left out could save at most, 0 … 1; zero if
    // none was left out that could.
    double bound_gap = 0;
};

struct SearchProgress {
    std::int64_t simulated = 0;
    double best = 0;   // objective, 0 while there is none
    double bound = 0;  // of the next plan
};

// The error of a space without a feasible plan says which rule empties it.
Result<SearchResult> search_plans(const Scenario& scenario,
                                  const SearchSpec& spec,
                                  const std::function<void(const SearchProgress&)>& progress = {});

}  // namespace orrery
