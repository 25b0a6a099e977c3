// SPDX-License-Identifier: Apache-2.0
// An explanation in words, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/studies/explain/explain.h"

namespace orrery {

// A cause of lost MFU, with what it depends on.
struct Limit {
    Cause cause{};
    double mfu = 0;
    Time time;
    std::string words;
};
// The largest first.
std::vector<Limit> limits(const Answer& answer);

std::string explain_report(const Explanation& explanation);
std::string explain_json(const Explanation& explanation);

}  // namespace orrery
