// SPDX-License-Identifier: Apache-2.0
// Accuracy of a family's predictions after K of its steps were measured, and the calibration fitted
// on these steps.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/validate/calibration_fit.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

struct CalibratedStepsOptions {
    std::string table;        // file of the cases, named in errors and in the calibration's source
    std::uint64_t given = 0;  // measured steps per family
    std::uint64_t draws = 5;  // number of random choices of the given steps
    std::uint64_t seed = 1;   // seed of the draws
    std::uint32_t jobs = 0;   // cases in parallel; 0: one per core
    bool make_calibration = false;
    std::function<void(double)> progress{};  // gets the completed share
};

struct CalibratedSteps {
    CalibratedValidation validation;
    std::string calibration;  // text of a file of kind calibration; empty if not requested
};

// `validation` holds the predictions of the cases without a calibration.
Result<CalibratedSteps> calibrate_with_steps(const std::vector<PublishedCase>& cases,
                                             const Validation& validation,
                                             const CalibratedStepsOptions& options);

}  // namespace orrery
