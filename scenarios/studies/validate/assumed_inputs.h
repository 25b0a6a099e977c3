// SPDX-License-Identifier: Apache-2.0
// Other plausible values of the inputs that a source does not state (the column `assumed` of a
// table of cases), and the spread of a prediction over them. Sizes are halved and doubled, switches
// flipped, and ordered choices moved by one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

struct Alternative {
    std::string column;  // column of the table
    std::string stated;  // value in the row
    std::string value;   // value instead of it
    PublishedCase row;
};

// Alternatives in the order of the row's list `assumed`. A value that does not affect the row is
// left out, as is a column without an obvious other value. Some alternatives may not be simulable.
std::vector<Alternative> alternatives(const PublishedCase& row);

// Step time of a row in seconds; nothing if the row cannot be simulated or does not fit in memory.
using PredictRow = std::function<std::optional<double>(const PublishedCase&)>;

// Relative standard deviation of a prediction over its assumed columns, which are independent. A
// column has the row's value with probability 3/4, else the alternative that moves the step most.
double assumed_spread(const PublishedCase& row, double predicted_s, const PredictRow& predict);

}  // namespace orrery
