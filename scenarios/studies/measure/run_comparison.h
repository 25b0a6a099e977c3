// SPDX-License-Identifier: Apache-2.0
// A recorded run compared with the simulator's prediction: the step, its parts, memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "scenarios/studies/measure/recorded_run.h"
#include "scenarios/studies/simulate/step_parts.h"

namespace orrery {

struct ComparedPart {
    PartKind kind = PartKind::kernel;
    std::string name;
    double runs = 0;  // runs of a rank in a step
    double measured_s = 0;
    double predicted_s = 0;
};

struct RunComparison {
    std::string scenario;
    std::string machine;
    std::uint32_t ranks = 1;
    std::size_t steps = 0;        // number of recorded steps
    std::size_t steps_used = 0;   // number of steps that best_steps() chose
    std::size_t undisturbed = 0;  // number of steps in which no other process took a processor
    // The measured step: the mean of the used steps, and the sum of the parts. Median and spread
    // (interquartile range / (1.35 median)) are those of all steps but the first.
    double measured_s = 0;
    double all_median_s = 0;
    double all_spread = 0;
    double cpu_s = 0;  // processor time of a rank, mean of the steps used
    // The step without the time that other processes took (MeasuredStep::replayed): median and
    // spread.
    double replayed_s = 0;
    double replayed_spread = 0;
    double predicted_s = 0;
    double uncertainty = 0;  // the prediction's uncertainty
    bool unprofiled_cpu = false;
    std::vector<ComparedPart> parts;
    Bytes predicted_memory;  // tensors at the peak, on the rank with most
    Bytes allocated_memory;  // the executor's allocation for them
    Bytes resident_memory;   // of the process
};

// `profile_file`: measured times for the prediction; empty: none.
Result<RunComparison> compare_run(const RecordedRun& run, const std::string& profile_file);

std::string comparison_json(const RunComparison& comparison);

}  // namespace orrery
