// SPDX-License-Identifier: Apache-2.0
// Finds the best plan for a model on a cluster, or on the best of several clusters. Every point of
// the space gets an admissible bound (plan_bound.h). The most promising plans are simulated without
// contention, and the best ones again on the network that the scenario asks for, until no bound
// lies below what has been found. Where clusters are compared, the best plan of each is looked for
// first, with at most half of the simulations. Nothing that could win is left out unless the number
// of simulations runs out; then the answer says by how much it could be beaten.
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
    double goodput = 1;       // under the scenario's faults, where it is the objective
    double days = 0;          // to train on SearchSpec::tokens; 0 without those
    double money = 0;         // a token, in the price's currency; 0 without a price
    double joules = 0;        // a token; 0 without watts
    Answer answer;
};

// Plans whose objectives differ by less cannot be told apart: the median error of the ratio of two
// measured steps of one software (orrery validate scenarios/catalogue/published/training.csv).
inline constexpr double kPlansDiffer = 0.057;

// The best plan found on one of the clusters that are compared.
struct ClusterBest {
    std::optional<FoundPlan> plan{};
    std::int64_t unsimulated = 0;  // plans that could be better when the simulations ran out
    double bound_gap = 0;          // how much of the plan's objective those could save at most
};

struct SearchResult {
    std::int64_t points = 0;      // of the space
    std::int64_t candidates = 0;  // that the model, cluster and batch admit
    LeftOut left_out;             // with `fit` they are all points
    std::int64_t simulated_analytic = 0;
    std::int64_t simulated = 0;     // on the scenario's network
    std::int64_t fit = 0;           // of these, within memory, deadline and budget
    std::int64_t equal = 0;         // of these, as fast and large as another one: not listed
    bool interrupted = false;       // by SearchOptions::stop
    std::vector<FoundPlan> best;    // best first
    std::vector<FoundPlan> pareto;  // of time, memory and cost: none of these beats another in all
    std::vector<ClusterBest> clusters;  // as SearchSpec::clusters
    // How much of the best objective a plan that was left out could save at most, 0 … 1; zero if
    // none was left out that could.
    double bound_gap = 0;
};

// How many of SearchResult::best cannot be told apart from the best, itself included.
std::size_t equal_plans(const SearchResult& result);

struct SearchProgress {
    std::int64_t simulated = 0;
    double best = 0;   // objective, 0 while there is none
    double bound = 0;  // of the next plan
};

struct SearchOptions {
    std::uint32_t jobs = 1;  // threads; 0: one a core. The answer is the same
    std::function<void(const SearchProgress&)> progress{};
    // Asked once the space is enumerated and then between simulations. True: no more plans are
    // tried than it takes to have one, and the answer is the best that is known.
    std::function<bool()> stop{};
    // Factors of a step with those of a calibration; nothing: the catalogue's.
    std::optional<EfficiencyTable> step_table{};
};

// The error of a search without a plan says whether the simulations ran out, a limit refuses all
// plans or which rule empties the space.
Result<SearchResult> search_plans(const Scenario& scenario,
                                  const SearchSpec& spec,
                                  const SearchOptions& options = {});

}  // namespace orrery
