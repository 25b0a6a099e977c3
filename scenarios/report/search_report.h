// SPDX-License-Identifier: Apache-2.0
// Results of `orrery search` as reports and JSON, and words that both use. study_sections.h has the
// report of a search among plans.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/render/report.h"
#include "scenarios/studies/campaign/fault_classes.h"
#include "scenarios/studies/search/largest_fit.h"
#include "scenarios/studies/search/layer_plan.h"
#include "scenarios/studies/search/place_nodes.h"
#include "scenarios/studies/search/search.h"
#include "scenarios/studies/search/sensitivity.h"

namespace orrery {

// The sizes that a search varies, and the data-parallel size: "tp" 8, "pp" 4 …
std::vector<std::pair<std::string_view, std::int64_t>> plan_sizes(const ParallelPlan& plan);
// The ZeRO stage of a strategy: "0" … "3".
std::string_view zero_stage(ShardingStrategy strategy);
// The split of the layers over the stages, and the switches that differ from their defaults.
std::string split_word(const ParallelPlan& plan);
std::string switch_words(const ParallelPlan& plan);

// A reason of LeftOut::rows() in words: "do not fit in memory".
std::string left_out_words(std::string_view reason);

// The part of the space of which the best plan is known to be the best.
std::string search_headline(const SearchResult& result);

// Faults on the best plan's cluster; empty unless the objective is goodput.
std::vector<FaultClass> search_fault_classes(const Scenario& scenario, const SearchResult& result);

// `figures` is empty without --sensitivity.
std::string search_json(const Scenario& scenario,
                        const SearchResult& result,
                        const std::vector<SensitiveFigure>& figures = {});

// The largest model or sequence that fits, and the contents of the memory.
Report fit_sections(const Scenario& scenario, FitOf what, const LargestFit& fit);
// In bytes; docs/schema/search_fit.schema.json.
std::string fit_json(const Scenario& scenario, FitOf what, const LargestFit& fit);

// Largest fits by the place of the state.
Report tier_sections(const Scenario& scenario, const std::vector<TierFit>& fits);
std::string tier_json(const Scenario& scenario, const std::vector<TierFit>& fits);

// A plan with the fewest recomputed layers.
Report layer_plan_sections(const Scenario& scenario, const LayerPlan& plan);
std::string layer_plan_json(const Scenario& scenario, const LayerPlan& plan);

// "[2,0,1]", the form of cluster.node_order.
std::string order_text(std::span<const std::uint32_t> order);

// The best order of the nodes, and its gain.
Report placed_sections(const Scenario& scenario, const PlacedNodes& placed);
// docs/schema/search_place.schema.json.
std::string placed_json(const Scenario& scenario, const PlacedNodes& placed);

}  // namespace orrery
