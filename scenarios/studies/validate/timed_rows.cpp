// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/timed_rows.h"

#include <algorithm>
#include <cmath>

#include "engine/base/statistics.h"

namespace orrery {
namespace {

struct WeighedError {
    double error = 0;
    double weight = 0;
};

// The smallest error such that errors up to it hold half of the weight.
double weighed_median(std::vector<WeighedError> errors) {
    std::ranges::sort(errors, {}, &WeighedError::error);
    double all = 0;
    for (const WeighedError& each : errors) {
        all += each.weight;
    }
    double below = 0;
    for (const WeighedError& each : errors) {
        below += each.weight;
        if (below * 2 >= all) {
            return each.error;
        }
    }
    return 0;
}

}  // namespace

void summarise(TimedValidation& validation) {
    validation.families.clear();
    std::vector<WeighedError> balanced;
    for (const TimedRow& row : validation.rows) {
        const bool known = std::ranges::any_of(
            validation.families, [&](const TimedFamily& f) { return f.name == row.family; });
        if (known) {
            continue;
        }
        std::vector<double> errors;
        for (const TimedRow& other : validation.rows) {
            if (other.family == row.family) {
                errors.push_back(std::abs(other.error()));
            }
        }
        std::ranges::sort(errors);
        for (const double error : errors) {
            balanced.push_back({error, 1.0 / static_cast<double>(errors.size())});
        }
        validation.families.push_back({.name = row.family,
                                       .rows = errors.size(),
                                       .median = median(errors),
                                       .p90 = quantile(errors, 0.9),
                                       .max = errors.back()});
    }
    validation.balanced_median = weighed_median(std::move(balanced));
}

}  // namespace orrery
