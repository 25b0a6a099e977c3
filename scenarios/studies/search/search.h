// SPDX-License-Identifier: Apache-2.0
// Finds the best plan for a model on a cluster, or on the best of several clusters. Every point of
// the space gets an admissible bound (plan_bound.h). The most promising plans are simulated without
// contention, and the best of them again on the scenario's network, until no bound is below the
// best found objective. With several clusters, the best plan of each is searched first, with at
// most half of the simulations. A plan that could win is left out only if the simulations run out.
// The answer then says by how much it could be beaten.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/efficiency_table.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/format/specs/search_spec.h"
#include "scenarios/studies/search/left_out.h"
#include "scenarios/studies/search/plan_bound.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct FoundPlan {
    ParallelPlan plan;
    std::size_t cluster = 0;  // index into SearchSpec::clusters
    double objective = 0;     // less is better
    double bound = 0;         // of the objective
    double goodput = 1;       // under the scenario's faults, if it is the objective
    double days = 0;          // to train on SearchSpec::tokens; 0 if none are given
    double money = 0;         // of a token, in the currency of the prices; 0 without a price
    double joules = 0;        // of a token; 0 without watts
    Answer answer;
};

// Plans whose objectives differ by less are indistinguishable: the median error of the ratio of two
// measured steps of one software (orrery validate scenarios/catalogue/published/training.csv).
inline constexpr double kPlansDiffer = 0.057;

// The best plan found on one of the compared clusters.
struct ClusterBest {
    std::optional<FoundPlan> plan{};
    std::int64_t unsimulated = 0;  // plans that could be better when the simulations ran out
    // The largest possible saving of these plans, as a share of the plan's objective
    double bound_gap = 0;
};

struct SearchResult {
    std::int64_t points = 0;      // of the space
    std::int64_t candidates = 0;  // points that the model, cluster and batch allow
    LeftOut left_out;             // with `fit` they add up to all points
    std::int64_t simulated_analytic = 0;
    std::int64_t simulated = 0;   // on the scenario's network
    std::int64_t fit = 0;         // of the simulated plans, within memory, deadline and budget
    std::int64_t equal = 0;       // of these, as fast and large as another one; not listed
    bool interrupted = false;     // by SearchOptions::stop
    bool listed = true;           // the whole space, before any interruption
    std::vector<FoundPlan> best;  // best first
    // Of time, memory and cost: no plan of the list is better in all three than another
    std::vector<FoundPlan> pareto;
    std::vector<ClusterBest> clusters;  // in the order of SearchSpec::clusters
    // The largest possible saving of a left-out plan, as a share of the best objective, 0 … 1; zero
    // if no left-out plan could be better.
    double bound_gap = 0;
};

// The number of plans in SearchResult::best that are indistinguishable from the best, itself
// included.
std::size_t equal_plans(const SearchResult& result);

struct SearchProgress {
    std::int64_t simulated = 0;
    double best = 0;   // objective, 0 while there is none
    double bound = 0;  // of the next plan
};

struct SearchOptions {
    std::uint32_t jobs = 1;  // threads; 0: one a core. The answer does not depend on it
    std::function<void(const SearchProgress&)> progress{};
    // Called by one thread at a time while the space is listed, and then between simulations. True:
    // no more plans are listed, and listed plans are tried only until there is one.
    std::function<bool()> stop{};
    // Factors of a step with those of a calibration; empty: the catalogue's.
    std::optional<EfficiencyTable> step_table{};
};

// The error of a search without a plan says whether the simulations ran out, a limit excludes all
// plans or a rule empties the space.
Result<SearchResult> search_plans(const Scenario& scenario,
                                  const SearchSpec& spec,
                                  const SearchOptions& options = {});

}  // namespace orrery
