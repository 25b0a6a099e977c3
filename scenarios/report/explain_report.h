// SPDX-License-Identifier: Apache-2.0
// The limits of a step in words, and an explanation as JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/studies/explain/explain.h"

namespace orrery {

// A cause of lost MFU and the settings on which it depends.
struct LossOfMfu {
    Cause cause{};
    double mfu = 0;
    Time time;
    std::string words;
};
// Sorted by size, the largest first.
std::vector<LossOfMfu> limits(const Answer& answer);

// The group of causes that loses most ("kernels"), and its loss.
std::pair<std::string, double> main_limit(const Answer& answer);

std::string explain_json(const Explanation& explanation);

}  // namespace orrery
