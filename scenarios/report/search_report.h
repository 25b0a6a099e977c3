// SPDX-License-Identifier: Apache-2.0
// The result of a search as one JSON object, and words that its forms share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/campaign/fault_classes.h"
#include "scenarios/studies/search/search.h"
#include "scenarios/studies/search/sensitivity.h"

namespace orrery {

// The sizes that a search varies, and the data-parallel size: "tp" 8, "pp" 4 …
std::vector<std::pair<std::string_view, std::int64_t>> plan_sizes(const ParallelPlan& plan);
// "0" … "3": what is sharded, as ZeRO counts it.
std::string_view zero_stage(ShardingStrategy strategy);
// How the layers are split over the stages, and the switches that are not as usual, in words.
std::string split_word(const ParallelPlan& plan);
std::string switch_words(const ParallelPlan& plan);

// A reason of LeftOut::rows() in words: "do not fit in memory".
std::string left_out_words(std::string_view reason);

// How much of the space the best plan is the best of.
std::string search_headline(const SearchResult& result);

// What can fail on the best plan's cluster; empty unless the objective is goodput.
std::vector<FaultClass> search_fault_classes(const Scenario& scenario, const SearchResult& result);

// `figures`: empty without --sensitivity.
std::string search_json(const Scenario& scenario,
                        const SearchResult& result,
                        const std::vector<SensitiveFigure>& figures = {});

}  // namespace orrery
