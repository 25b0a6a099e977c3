// SPDX-License-Identifier: Apache-2.0
// Whether a figure is reproduced. The rule follows from the class alone:
//   absolute    simulated within 20 % of published
//   ratio       a figure over its baseline's, within 15 % of the published ratio
//   direction   in the published range, and a ratio on the published side of 1
#pragma once

#include <string>

#include "scenarios/format/specs/reproduction.h"

namespace orrery {

inline constexpr double kAbsoluteTolerance = 0.20;
inline constexpr double kRatioTolerance = 0.15;

// "within 20 %", "ratio within 15 %", "direction, 1.05 to 1.2"
std::string rule_of(const ReproducedComparison& comparison);

// Figures that are not finite never pass.
bool passes(const ReproducedComparison& comparison, double published, double simulated);

}  // namespace orrery
