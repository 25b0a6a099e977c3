// SPDX-License-Identifier: Apache-2.0
// What a source does not state (the column `assumed` of a table of cases) could have been something
// else: the plausible other values of each such column, and how far they spread a prediction. Sizes
// are halved and doubled, switches thrown, ordered choices moved one step.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

struct Alternative {
    std::string column;  // of the table
    std::string stated;  // the row's value
    std::string value;   // instead
    PublishedCase row;
};

// In the order of the row's list. Values without effect on the row are left out, columns that have
// no obvious other value too. Whether a row can be simulated at all, only simulating it tells.
std::vector<Alternative> alternatives(const PublishedCase& row);

// The step time of a row, or nothing where it can't be simulated or does not fit in memory.
using PredictRow = std::function<std::optional<double>(const PublishedCase&)>;

// Relative standard deviation of a prediction by its assumed columns: each is what the row says
// with probability 3/4 and else the alternative that moves the step most, independently of the
// others.
double assumed_spread(const PublishedCase& row, double predicted_s, const PredictRow& predict);

}  // namespace orrery
