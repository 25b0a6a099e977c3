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
    std::vector<std::string> families;  // only these families; empty: all
    // COLUMN=VALUE, for rows whose source does not state the column
    std::vector<std::string> assume;
    std::uint32_t jobs = 0;            // cases at the same time; 0: one a core
    std::string calibration_file;      // a calibration's file; empty: none
    std::uint64_t calibrate_with = 0;  // number of given steps of each family; 0: none
    std::uint64_t draws = 5;           // number of draws of these steps
    std::uint64_t seed = 1;            // of the draws
};

// Returns the exit status.
int validate_command(const ValidateArguments& arguments);

// `orrery validate` for a table of training steps: published cases, or the user's own runs. Returns
// the answer without its provenance.
ResultOrErrors<StudyOutput> validate_step_table(const ValidateArguments& arguments,
                                                const std::function<void(double)>& progress);

// `orrery validate TABLE --calibrate-with K` (scenarios/studies/validate/calibrated_steps.h).
// Returns the answer without its provenance; its product is the calibration. `validation` is that
// of the cases without a calibration.
ResultOrErrors<StudyOutput> calibrated_output(const ValidateArguments& arguments,
                                              const std::vector<PublishedCase>& cases,
                                              const Validation& validation,
                                              const std::function<void(double)>& progress);

// Whether the file's first line is that of a table without training steps: collectives, exchanges,
// layers, memory, served loads or serving kernels.
bool is_table_of_operations(const std::string& file);

// The answer for such a table, without its provenance.
ResultOrErrors<StudyOutput> validate_table(const ValidateArguments& arguments,
                                           const std::function<void(double)>& progress);

}  // namespace orrery
