// SPDX-License-Identifier: Apache-2.0
// Published times of single operations (exchanges of tokens, kernels, layers) beside predicted
// ones, by family.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "engine/result.h"
#include "kernels/csv_rows.h"

namespace orrery {

struct TimedRow {
    std::string name;
    std::string family;
    double measured_us = 0;
    double predicted_us = 0;
    std::string as;  // what was priced: "deepep, 24 SMs"
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
    // Median of the absolute errors, every family weighing the same.
    double balanced_median = 0;
};

void summarise(TimedValidation& validation);

// A case of each row of a table. `case_of` adds what is wrong with a row to the errors.
template <class Case>
ResultOrErrors<std::vector<Case>> read_cases(const std::string& file,
                                             const std::vector<std::string>& columns,
                                             Case (*case_of)(const CsvRow&, Errors&)) {
    const auto rows = read_csv(file, columns, true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<Case> cases;
    Errors errors;
    for (const CsvRow& row : *rows) {
        cases.push_back(case_of(row, errors));
    }
    return errors.empty() ? ResultOrErrors<std::vector<Case>>{std::move(cases)}
                          : unexpected<Errors>(std::move(errors));
}

}  // namespace orrery
