// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/reproduce/verdict.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace orrery {
namespace {

bool is_near(double published, double simulated, double tolerance) {
    return std::abs(simulated - published) <= tolerance * std::abs(published);
}

std::string range_words(const ReproducedComparison& comparison) {
    if (comparison.least && comparison.most) {
        return fmt::format("{:g} to {:g}", *comparison.least, *comparison.most);
    }
    return comparison.least ? fmt::format("{:g} or more", *comparison.least)
                            : fmt::format("{:g} or less", comparison.most.value_or(0));
}

}  // namespace

std::string rule_of(const ReproducedComparison& comparison) {
    switch (comparison.kind) {
        case ReproductionClass::absolute:
            return fmt::format("within {:.0f} %", kAbsoluteTolerance * 100);
        case ReproductionClass::ratio:
            return fmt::format("ratio within {:.0f} %", kRatioTolerance * 100);
        case ReproductionClass::direction:
            break;
    }
    return "direction, " + range_words(comparison);
}

bool passes(const ReproducedComparison& comparison, double published, double simulated) {
    if (!std::isfinite(published) || !std::isfinite(simulated)) {
        return false;
    }
    switch (comparison.kind) {
        case ReproductionClass::absolute:
            return is_near(published, simulated, kAbsoluteTolerance);
        case ReproductionClass::ratio:
            return is_near(published, simulated, kRatioTolerance);
        case ReproductionClass::direction:
            break;
    }
    constexpr double kNoLimit = std::numeric_limits<double>::infinity();
    const bool in_range = simulated >= comparison.least.value_or(-kNoLimit) &&
                          simulated <= comparison.most.value_or(kNoLimit);
    const bool same_side = comparison.baseline.empty() || (published - 1) * (simulated - 1) >= 0;
    return in_range && same_side;
}

}  // namespace orrery
