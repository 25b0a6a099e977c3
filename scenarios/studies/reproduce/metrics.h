// SPDX-License-Identifier: Apache-2.0
// Definitions of the figures of reproductions: the study that computes each, and the field of its
// answer.
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

// The answer of one study: the requested one.
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
// Whether the figure belongs to a study of files of kind serving.
bool is_served(ReproducedMetric metric);
// Whether a comparison of the reproduction uses such a figure of the variant.
bool is_served(const Reproduction& room, const std::string& variant);
// "s", "tokens/s", ""
std::string_view unit_of(ReproducedMetric metric);
// The figure in the answer of the metric's study. Empty for the mean time between interruptions of
// a job without interruptions.
std::optional<double> value_of(ReproducedMetric metric, const VariantAnswer& answer);

}  // namespace orrery
