// SPDX-License-Identifier: Apache-2.0
// Plans of a search's space that its model, cluster and batch admit, and what is known of each.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "scenarios/studies/search/cluster_costs.h"
#include "scenarios/studies/search/left_out.h"
#include "scenarios/studies/search/plan_bound.h"
#include "scenarios/studies/search/score.h"
#include "scenarios/studies/simulate/answer.h"

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

struct Candidates {
    std::vector<Candidate> plans;  // with their bounds, in the order of for_each_plan
    std::int64_t points = 0;       // of the space
    std::int64_t admitted = 0;     // by the model, the cluster and the batch
    LeftOut left_out;
};

// Counts a plan that does not fit into memory.
void count_too_large(Bytes memory, const ClusterVariant& on, LeftOut& out);
// Whether a step breaks a limit; counts it then.
bool breaks_limit(
    Time step, const ClusterVariant& on, const Score& score, const SearchSpec& spec, LeftOut& out);

// The plans for one of the clusters, without those whose bounds break a limit. `jobs`: threads, 0:
// one a core; the answer is the same. `stop` is asked by one thread at a time; the plans after its
// first `true` are not listed.
Candidates candidates_on(const Scenario& scenario,
                         const SearchSpec& spec,
                         std::size_t cluster,
                         const ClusterCosts& costs,
                         const Score& score,
                         std::uint32_t jobs,
                         const std::function<bool()>& stop = {});

}  // namespace orrery
