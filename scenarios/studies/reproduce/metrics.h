// SPDX-License-Identifier: Apache-2.0
// What the figures of reproductions are: the study that answers with each, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/format/specs/reproduction.h"
#include "scenarios/studies/campaign/campaign_answer.h"
#include "scenarios/studies/search/largest_fit.h"
#include "scenarios/studies/search/layer_plan.h"
#include "scenarios/studies/search/place_nodes.h"
#include "scenarios/studies/search/search.h"
#include "scenarios/studies/serve/highest_rate.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

enum class ReproducedStudy : std::uint8_t {
    step,
    campaign,
    search,
    placement,
    layer_plan,
    serving,
    highest_rate,
    longest_sequence,
    most_layers,
};

// One of them, of the study that was asked for.
struct VariantAnswer {
    std::optional<Answer> step;
    std::optional<CampaignAnswer> campaign;
    std::optional<SearchResult> search;
    std::optional<PlacedNodes> placed;
    std::optional<LayerPlan> layer_plan;
    std::optional<ServingAnswer> serving;
    std::optional<HighestRate> highest_rate;
    std::optional<LargestFit> largest_fit;
};

ReproducedStudy study_of(ReproducedMetric metric);
// Of a study that takes files of kind serving.
bool is_served(ReproducedMetric metric);
// Does a comparison of the room ask for such a figure of the variant?
bool is_served(const Reproduction& room, const std::string& variant);
// "s", "tokens/s", ""
std::string_view unit_of(ReproducedMetric metric);
// The answer is of the metric's study. Of a job without interruptions, their mean distance is none.
std::optional<double> value_of(ReproducedMetric metric, const VariantAnswer& answer);

}  // namespace orrery
