// SPDX-License-Identifier: Apache-2.0
// Measured training steps beside simulated ones: published cases, whose columns are the scenario,
// and one's own runs, which name their scenarios.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "kernels/efficiency_table.h"
#include "scenarios/studies/validate/control.h"
#include "scenarios/studies/validate/measured_runs.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

class PlainSteps;

struct StepValidationOptions {
    std::filesystem::path catalogue;
    EfficiencyTable step_table;
    std::uint32_t jobs = 1;
    std::function<void(double)> progress{};  // called with the share that is done
};

// The rows that the control's constants are fitted on ship with the catalogue.
std::filesystem::path control_table(const std::filesystem::path& catalogue);
ResultOrErrors<Control> fitted_control(const std::filesystem::path& catalogue);

// Relative standard deviation of a row's step by the columns that its source does not state, on a
// network without contention: what matters is the difference. `fits`: the row's own step does, and
// so have the others to.
double spread_of_assumed(const PublishedCase& row,
                         const Catalogue& catalogue,
                         PlainSteps& steps,
                         bool fits);

// Without the summaries of families (summarise_families()). A case's interval also holds what the
// columns spread that its source does not state.
Validation validate_steps(const std::vector<PublishedCase>& cases,
                          const Control& control,
                          const StepValidationOptions& options);
Validation validate_runs(const std::vector<MeasuredRun>& runs,
                         const Control& control,
                         const StepValidationOptions& options);

}  // namespace orrery
