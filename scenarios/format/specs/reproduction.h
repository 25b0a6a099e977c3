// SPDX-License-Identifier: Apache-2.0
// A published system that is simulated again (a file under scenarios/reproductions): variants of a
// scenario, and comparisons of their figures with published ones. The rule of a verdict follows
// from the class of a comparison alone (studies/reproduce/verdict.h), never from the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/format/document/settings.h"

namespace orrery {

enum class ReproductionClass : std::uint8_t { absolute, ratio, direction };

// A figure of a study's answer (studies/reproduce/metrics.cpp says which).
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
    // of the memory of a step: the most tokens of a sequence that fit, the most layers
    longest_sequence,
    most_layers,
    // of a search's best plan
    best_tokens_per_s,
    best_fits,
    // of the order of the nodes that annealing finds: how many times as fast the step is in it
    placement_gain,
    // of the fewest layers that run again and fit: how many times as fast the step is as one in
    // which all layers run again
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
    std::string scenario;        // a file, relative to the room's
    std::string published_case;  // "TABLE/CASE" of the catalogue's published steps
    Settings set;
    SettingPlaces places;
    std::string where;  // in the file
};

struct ReproducedComparison {
    std::string name;
    std::string exhibit;  // "table 2"
    ReproductionClass kind = ReproductionClass::absolute;
    ReproducedMetric metric = ReproducedMetric::iteration_s;
    std::string variant;
    std::string baseline;  // the figure is the variant's over this one's; empty: the variant's own
    std::optional<double> published;  // else from the published cases
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
    std::string mechanism;                                 // what makes the gain
    std::string falls_short;                               // why comparisons fail, if any do
    ReproductionClass kind = ReproductionClass::absolute;  // of comparisons that say none
    std::filesystem::path file;
    std::vector<ReproducedVariant> variants;
    std::vector<ReproducedComparison> comparisons;
};

}  // namespace orrery
