// SPDX-License-Identifier: Apache-2.0
// Measured training steps beside simulated ones: published cases, whose columns are the scenario,
// and the user's own runs, which name their scenarios.
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
    std::function<void(double)> progress{};  // gets the completed share
};

// The catalogue's table to which the control's constants are fitted.
std::filesystem::path control_table(const std::filesystem::path& root);
ResultOrErrors<Control> fitted_control(const std::filesystem::path& root);

// Relative standard deviation of a row's step over the columns that its source does not state, on a
// network without contention, since only the difference matters. `fits`: the row's own step fits in
// memory, and alternatives that do not fit are excluded.
double spread_of_assumed(const PublishedCase& row,
                         const Catalogue& catalogue,
                         PlainSteps& steps,
                         bool fits);

// Families are not summarised yet (summarise_families()). The interval of a case includes the
// spread over the columns that its source does not state.
Validation validate_steps(const std::vector<PublishedCase>& cases,
                          const Control& control,
                          const StepValidationOptions& options);
Validation validate_runs(const std::vector<MeasuredRun>& runs,
                         const Control& control,
                         const StepValidationOptions& options);

}  // namespace orrery
