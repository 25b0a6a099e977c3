// SPDX-License-Identifier: Apache-2.0
// Published times of single operations (exchanges of tokens, kernels, layers) beside predicted
// ones, by family.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct TimedRow {
    std::string name;
    std::string family;
    double measured_us = 0;
    double predicted_us = 0;
    std::string as;  // simulated operation: "deepep, 24 SMs"
    double error() const { return predicted_us / measured_us - 1; }
};

struct SkippedRow {
    std::string name;
    std::string family;
    std::string reason;
};

struct TimedFamily {
    std::string name;
    std::size_t rows = 0;
    double median = 0;  // of the absolute errors
    double p90 = 0;
    double max = 0;
};

struct TimedValidation {
    std::vector<TimedRow> rows;
    std::vector<SkippedRow> skipped;
    std::vector<TimedFamily> families;
    // Median of the absolute errors, with equal weights of the families.
    double balanced_median = 0;
};

void summarise(TimedValidation& validation);

// Validates each case by `validate`, a function from a case to a Result<TimedRow>. An error is the
// reason why a case is skipped.
template <class Case, class Validate>
TimedValidation validate_timed(const std::vector<Case>& cases, const Validate& validate) {
    TimedValidation validation;
    for (const Case& row : cases) {
        Result<TimedRow> timed = validate(row);
        if (timed) {
            validation.rows.push_back(std::move(*timed));
        } else {
            validation.skipped.push_back({row.name, row.family, timed.error().what});
        }
    }
    summarise(validation);
    return validation;
}

}  // namespace orrery
