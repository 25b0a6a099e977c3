// SPDX-License-Identifier: Apache-2.0
// Means of simulated runs with the luck taken out that sums of known mean explain (control
// variates: Lavenberg and Welch, Management Science 27, 1981), and the standard error that is left.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/golden/golden_case.h"

namespace orrery {

// Of one run: the value, and a control whose mean is known.
struct Controlled {
    double value = 0;
    double control = 0;
};

inline double mean_of(const std::vector<Controlled>& runs, double Controlled::*what) {
    double sum = 0;
    for (const Controlled& run : runs) {
        sum += run.*what;
    }
    return sum / static_cast<double>(runs.size());
}

// Of the values over the control, by least squares.
inline double slope_of(const std::vector<Controlled>& runs) {
    const double value = mean_of(runs, &Controlled::value);
    const double control = mean_of(runs, &Controlled::control);
    double both = 0;
    double square = 0;
    for (const Controlled& run : runs) {
        both += (run.value - value) * (run.control - control);
        square += (run.control - control) * (run.control - control);
    }
    return square > 0 ? both / square : 0;
}

// The runs with what the control explains taken out.
inline void take_out(std::vector<Controlled>& runs, double control_mean) {
    const double slope = slope_of(runs);
    for (Controlled& run : runs) {
        run.value -= slope * (run.control - control_mean);
    }
}

inline Measured measured_of(const std::vector<Controlled>& runs) {
    const auto n = static_cast<double>(runs.size());
    const double mean = mean_of(runs, &Controlled::value);
    double squares = 0;
    for (const Controlled& run : runs) {
        squares += (run.value - mean) * (run.value - mean);
    }
    return {mean, std::sqrt(squares / (n * (n - 2)))};
}

}  // namespace orrery
