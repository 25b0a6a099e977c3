// SPDX-License-Identifier: Apache-2.0
// Costs of a training with a plan that a search found, and the best plan of each compared cluster.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/render/text_table.h"
#include "scenarios/studies/search/search.h"

namespace orrery {

struct ObjectiveWords {
    std::string_view name;  // name in the scenario
    std::string_view unit;
    std::string_view noun;  // "time"
};
ObjectiveWords words_of(Objective objective);

// GPU-hours and money (in the currency of the price) for training on the scenario's tokens; 0
// without tokens.
double gpu_hours(const Scenario& scenario, const FoundPlan& found);
double training_money(const Scenario& scenario, const FoundPlan& found);
// "16.7 days, 205,004 GPU-hours, cost 511,851"; empty if the search has neither tokens nor prices.
std::string training_words(const Scenario& scenario, const FoundPlan& found);

// Remarks on the scenarios of all clusters, each once.
std::vector<std::string> search_remarks(const Scenario& scenario);

// How much worse a cluster's best plan is than the best of all, as shares of the objective.
// The two differ if the simulations ran out.
struct Behind {
    double at_least = 0;
    double at_most = 0;
};
Behind behind(const SearchResult& result, const ClusterBest& cluster);

// The clusters with their best plans, the head first, without empty columns.
std::vector<TextRow> cluster_rows(const Scenario& scenario, const SearchResult& result);

}  // namespace orrery
