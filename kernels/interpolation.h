// SPDX-License-Identifier: Apache-2.0
// Interpolation in efficiency space: a Gaussian process (kriging; Rasmussen and Williams 2006,
// chapter 2) for log(measured time / curve) over the logarithms of the dimensions. The covariance
// of two shapes at distance d octaves is amplitude^2 sigma^2 ((1 - nugget) (0.3 + 0.7 exp(-d^2 / 2
// length^2)) + [same shape] nugget).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace orrery {

// Relative standard deviation between two GPUs of one kind: the profile is of one GPU, the run of
// others.
inline constexpr double kNextMachineSigma = 0.02;

using ShapePosition = std::array<double, 7>;  // logarithms to base 2

struct MeasuredShape {
    std::array<std::int64_t, 6> dims;
    ShapePosition position;
    double seconds = 0;
    double log_ratio = 0;  // measured / curve
    double variance = 0;   // of the measured log_ratio
};

// The smoothness of the curve's error in one group of rows.
struct Smoothness {
    double length = 1.5;   // correlation length in octaves
    double nugget = 0;     // part of the variance that neighbours cannot predict
    double amplitude = 1;  // sigma of the error over the curve's own sigma
};

struct Correction {
    double log_ratio = 0;
    double sigma = 0;
    bool informed = false;  // neighbours explain half of the predictable variance
};

// The maximum of the marginal likelihood over a small grid. With fewer than eight rows, the
// default.
Smoothness most_likely_smoothness(const std::vector<MeasuredShape>& rows, double curve_sigma);

Correction interpolate(const std::vector<MeasuredShape>& rows,
                       const Smoothness& smoothness,
                       const ShapePosition& here,
                       double curve_sigma);

}  // namespace orrery
