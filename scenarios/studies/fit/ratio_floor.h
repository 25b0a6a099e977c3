// SPDX-License-Identifier: Apache-2.0
// How well factors of kernels could predict ratios of measured step times at most: one factor for
// every kind of kernel of every generation and element type, and for communication, bubbles and
// noise, as far from 1 as the fit's few factors may go, sought on these very ratios. What is left
// then no factor explains: the mechanism is missing, or versions of a framework differ.
#pragma once

#include <cstddef>
#include <vector>

#include "scenarios/studies/fit/step_fit.h"

namespace orrery {

struct RatioFloor {
    std::size_t factors = 0;
    double ratio_error = 0;     // as Validation's
    double balanced_error = 0;  // of the steps themselves, with those factors
};

// A local minimum (coordinate search from the catalogue's kernels on, deterministic).
RatioFloor ratio_floor(const std::vector<StepSample>& samples);

}  // namespace orrery
