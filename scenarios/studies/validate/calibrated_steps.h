// SPDX-License-Identifier: Apache-2.0
// What K measured steps of a family are worth for the others, and the calibration that they make.
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
    std::string table;        // the file of the cases, for errors and the calibration's source
    std::uint64_t given = 0;  // steps of each family
    std::uint64_t draws = 5;  // of these steps
    std::uint64_t seed = 1;   // of the draws
    std::uint32_t jobs = 0;   // cases at a time; 0: one a core
    bool make_calibration = false;
    std::function<void(double)> progress{};  // called with the share that is done
};

struct CalibratedSteps {
    CalibratedValidation validation;
    std::string calibration;  // a file of kind calibration; empty if none was asked for
};

// `validation`: of the cases, without a calibration.
Result<CalibratedSteps> calibrate_with_steps(const std::vector<PublishedCase>& cases,
                                             const Validation& validation,
                                             const CalibratedStepsOptions& options);

}  // namespace orrery
