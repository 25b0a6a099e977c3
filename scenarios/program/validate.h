// SPDX-License-Identifier: Apache-2.0
// `orrery validate CASES.csv`: simulates each published case and compares its step time with the
// measured one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/views.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

struct ValidateArguments : ViewArguments {
    std::string file;
    std::vector<std::string> families;  // only these; all if empty
    std::vector<std::string> assume;    // COLUMN=VALUE, where a row's source does not state it
    std::uint32_t jobs = 0;             // cases at a time; 0: one a core
    std::string calibration_file;       // facts that measured steps told
    std::uint64_t calibrate_with = 0;   // steps of each family that are given; 0: none
    std::uint64_t draws = 5;            // of these steps
    std::uint64_t seed = 1;             // of the draws
};

// Returns the exit status.
int validate_command(const ValidateArguments& arguments);

// `orrery validate` of a table of training steps: published cases, or one's own runs.
// The answer without its provenance.
ResultOrErrors<StudyOutput> validate_step_table(const ValidateArguments& arguments,
                                                const std::function<void(double)>& progress);

// `orrery validate TABLE --calibrate-with K` (scenarios/studies/validate/calibrated_steps.h).
// The answer without its provenance; its product is the calibration. `validation`: of the cases,
// without a calibration.
ResultOrErrors<StudyOutput> calibrated_output(const ValidateArguments& arguments,
                                              const std::vector<PublishedCase>& cases,
                                              const Validation& validation,
                                              const std::function<void(double)>& progress);

// Whether the file's first line is that of a table that holds no training steps: collectives,
// exchanges, layers, memory, served loads and kernels of serving.
bool is_table_of_operations(const std::string& file);

// Of such a table, the answer without its provenance.
ResultOrErrors<StudyOutput> validate_table(const ValidateArguments& arguments,
                                           const std::function<void(double)>& progress);

}  // namespace orrery
