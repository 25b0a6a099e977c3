// SPDX-License-Identifier: Apache-2.0
// What a training costs with a plan that a search found, and what the best plan of each of the
// compared clusters is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/render/text_table.h"
#include "scenarios/studies/search/search.h"

namespace orrery {

struct ObjectiveWords {
    std::string_view name;  // as the scenario has it
    std::string_view unit;
    std::string_view noun;  // "time"
};
ObjectiveWords words_of(Objective objective);

// Of the scenario's tokens, or zero without those: hours of all GPUs, money in the price's
// currency.
double gpu_hours(const Scenario& scenario, const FoundPlan& found);
double training_money(const Scenario& scenario, const FoundPlan& found);
// "16.7 days, 205,004 GPU-hours, cost 511,851"; empty where the search asks for none of it.
std::string training_words(const Scenario& scenario, const FoundPlan& found);

// What is not quite as the scenario asks for, of each cluster once.
std::vector<std::string> search_remarks(const Scenario& scenario);

// By how much the cluster's best plan is worse than the best of all, as shares of its objective;
// the two differ where the simulations ran out.
struct Behind {
    double at_least = 0;
    double at_most = 0;
};
Behind behind(const SearchResult& result, const ClusterBest& cluster);

// The clusters with their best plans, the head first; without columns that are empty.
std::vector<TextRow> cluster_rows(const Scenario& scenario, const SearchResult& result);

}  // namespace orrery
