// SPDX-License-Identifier: Apache-2.0
// Interpolation in efficiency space: a Gaussian process (kriging; Rasmussen and Williams 2006,
// chapter 2) for the logarithm of measured time / curve over the logarithms of the dimensions.
// Covariance of two shapes at distance d octaves: amplitude^2 sigma^2 ((1 - nugget)
// (0.3 + 0.7 exp(-d^2 / 2 length^2)) + [same shape] nugget).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace orrery {

// Relative standard deviation between two GPUs of one kind: a profile is of one, a run of others.
inline constexpr double kNextMachineSigma = 0.02;

using ShapePosition = std::array<double, 7>;  // logarithms to base 2

struct MeasuredShape {
    std::array<std::int64_t, 6> dims;
    ShapePosition position;
    double seconds = 0;
    double log_ratio = 0;  // measured / curve
    double variance = 0;   // of one such measurement
};

// What kind of function the curve's error is, in one group of rows.
struct Smoothness {
    double length = 1.5;   // octaves over which it is alike
    double nugget = 0;     // part of its variance that no neighbour tells
    double amplitude = 1;  // its sigma over the curve's own
};

struct Correction {
    double log_ratio = 0;
    double sigma = 0;
    bool informed = false;  // the neighbours explain half of what neighbours can explain at all
};

// Maximum marginal likelihood of the rows' own ratios over a small grid; fewer than eight rows say
// nothing, and the default stands.
Smoothness most_likely_smoothness(const std::vector<MeasuredShape>& rows, double curve_sigma);

Correction interpolate(const std::vector<MeasuredShape>& rows,
                       const Smoothness& smoothness,
                       const ShapePosition& here,
                       double curve_sigma);

}  // namespace orrery
