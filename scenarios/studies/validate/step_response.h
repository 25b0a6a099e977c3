// SPDX-License-Identifier: Apache-2.0
// How a step's time answers to the facts of a calibration (scenarios/format/specs/calibration.h):
// the step is simulated with each fact changed by itself, on a network without contention, and
// interpolated between. A step of kernels, transfers and calls that all take twice as long takes
// twice as long: the factor that all facts share needs no simulation, and what they differ by adds
// up.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/calibration.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

// Step times at values of one factor, ascending; straight lines between them and beyond.
class ResponseCurve {
public:
    void add(double factor, double seconds) { points_.emplace_back(factor, seconds); }
    // Less the time at factor 1. No points: the step does not depend on the factor.
    double change(double factor) const;

private:
    std::vector<std::pair<double, double>> points_;
};

struct StepResponse {
    double predicted_s = 0;  // on the row's own network
    double measured_s = 0;
    double sigma = 0;       // relative standard deviation of the prediction
    double analytic_s = 0;  // without contention, as the curves
    // By kCalibrationFactors; of the kernels shares of the time that the step spends in them.
    std::array<ResponseCurve, kCalibrationFactors.size()> curves{};
    // The step under other facts, in seconds.
    double under(const Calibration& facts) const;
};

// `row` as validate predicted it.
Result<StepResponse> step_response(const PublishedCase& row,
                                   const ValidatedCase& validated,
                                   const Catalogue& catalogue);

}  // namespace orrery
