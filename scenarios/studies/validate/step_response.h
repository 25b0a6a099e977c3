// SPDX-License-Identifier: Apache-2.0
// Response of a step's time to the facts of a calibration (scenarios/format/specs/calibration.h).
// The step is simulated with one fact changed at a time, on a network without contention, and
// interpolated. If kernels, transfers and calls all take twice as long, so does the step: the
// shared factor needs no simulation. The remaining differences add up.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/calibration.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

// Step times at ascending values of one factor, with linear interpolation and extrapolation.
class ResponseCurve {
public:
    void add(double factor, double seconds) { points_.emplace_back(factor, seconds); }
    // Difference to the time at factor 1. Without points the step does not depend on the factor.
    double change(double factor) const;

private:
    std::vector<std::pair<double, double>> points_;
};

struct StepResponse {
    double predicted_s = 0;  // on the row's own network
    double measured_s = 0;
    double sigma = 0;       // relative standard deviation of the prediction
    double analytic_s = 0;  // without contention, like the curves
    // Indexed like kCalibrationFactors.
    std::array<ResponseCurve, kCalibrationFactors.size()> curves{};
    // Step time under other facts, in seconds.
    double under(const Calibration& facts) const;
};

// `validated` is the prediction of `row` by validate.
Result<StepResponse> step_response(const PublishedCase& row,
                                   const ValidatedCase& validated,
                                   const Catalogue& catalogue);

}  // namespace orrery
