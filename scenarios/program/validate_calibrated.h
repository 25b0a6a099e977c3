// SPDX-License-Identifier: Apache-2.0
// `orrery validate TABLE --calibrate-with K` (scenarios/studies/validate/calibrated_steps.h).
#pragma once

#include <functional>
#include <vector>

#include "engine/result.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/validate.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

// The answer without its provenance; its product is the calibration. `validation`: of the cases,
// without a calibration.
ResultOrErrors<StudyOutput> calibrated_output(const ValidateArguments& arguments,
                                              const std::vector<PublishedCase>& cases,
                                              const Validation& validation,
                                              const std::function<void(double)>& progress);

}  // namespace orrery
