// SPDX-License-Identifier: Apache-2.0
// A lower bound of the error of ratios of measured step times for any factors of kernels. It has
// one factor for every kind of kernel of every generation and element type, and for communication,
// bubbles and noise, within the range of the fit's few factors. The factors are fitted to these
// very ratios. The remaining error cannot be explained by factors: a mechanism is missing, or
// versions of a framework differ.
#pragma once

#include <cstddef>
#include <vector>

#include "scenarios/studies/fit/step_fit.h"

namespace orrery {

struct RatioFloor {
    std::size_t factors = 0;
    double ratio_error = 0;     // defined as in Validation
    double balanced_error = 0;  // error of the steps themselves with those factors
};

// The result of a deterministic coordinate search, which starts from the catalogue's kernels and
// ends in a local minimum.
RatioFloor ratio_floor(const std::vector<StepSample>& samples);

}  // namespace orrery
