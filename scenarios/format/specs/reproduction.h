// SPDX-License-Identifier: Apache-2.0
// A published system that is simulated again (a file in scenarios/reproductions): variants of a
// scenario, and comparisons of their figures with published ones. The rule of a verdict depends
// only on the class of a comparison (studies/reproduce/verdict.h), never on the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/format/document/settings.h"

namespace orrery {

enum class ReproductionClass : std::uint8_t { absolute, ratio, direction };

// A figure of a study's answer; studies/reproduce/metrics.cpp defines each.
enum class ReproducedMetric : std::uint8_t {
    // of a step
    iteration_s,
    tokens_per_s,
    mfu,
    hfu,
    model_tflops_per_gpu,
    hardware_tflops_per_gpu,
    peak_memory_gb,
    host_memory_gb,
    fits,
    // of a campaign's first recovery plan
    goodput,
    ettr,
    interruptions,
    mttf_h,
    lost_h,
    communicators_s,
    restart_s,
    checkpoint_stall_s,
    checkpoint_copy_s,
    checkpoint_load_s,
    // of a step's memory: the longest sequence that fits, in tokens; the largest number of layers
    longest_sequence,
    most_layers,
    // of a search's best plan
    best_tokens_per_s,
    best_fits,
    // of a search for an order of nodes: the speed with this order over the speed without
    placement_gain,
    // of the fewest recomputed layers that fit: the speed over that with all layers recomputed
    layer_plan_gain,
    // of a served load: means
    ttft_s,
    tpot_s,
    good_share,
    brakes,
    peak_power_share,
    e2e_s,
    output_tokens_per_s,
    // the largest rate at which the load meets its objectives
    highest_rate,
};

struct ReproducedVariant {
    std::string name;
    std::string scenario;        // a file, relative to the reproduction's
    std::string published_case;  // "TABLE/CASE" of the catalogue's published steps
    Settings set;
    SettingPlaces places;
    std::string where;  // place in the file
};

struct ReproducedComparison {
    std::string name;
    std::string exhibit;  // "table 2"
    ReproductionClass kind = ReproductionClass::absolute;
    ReproducedMetric metric = ReproducedMetric::iteration_s;
    std::string variant;
    std::string baseline;  // if given, the figure is the variant's divided by this variant's
    std::optional<double> published;  // empty: the figure is in the published cases
    std::optional<double> least;      // range of a direction
    std::optional<double> most;
    std::string where;
};

struct Reproduction {
    std::string name;    // the file's
    std::string system;  // "MegaScale"
    std::string title;
    std::string source;
    std::string url;
    std::string mechanism;    // the cause of the gain
    std::string falls_short;  // the reason why comparisons fail, if some do
    ReproductionClass kind = ReproductionClass::absolute;  // for comparisons without a class
    std::filesystem::path file;
    std::vector<ReproducedVariant> variants;
    std::vector<ReproducedComparison> comparisons;
};

}  // namespace orrery
