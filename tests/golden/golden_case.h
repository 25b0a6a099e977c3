// SPDX-License-Identifier: Apache-2.0
// Values with an exact answer, and what the simulator's own code makes of them. A case says what
// was published or worked out, and computes the same by simulating it: never by the formula.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace orrery {

struct Measured {
    double value = 0;
    double error = 0;  // standard error of the value; 0: nothing in it is left to chance
};

struct GoldenCase {
    std::string id;  // of the reference, V1 … V12 and S1 … S7
    std::string what;
    double expected = 0;
    double tolerance = 0;  // of the value over the expected one; 0: equal
    // `share` of the work that the table is made with.
    std::function<Measured(double share)> simulate;
    // Published as a band instead: `expected` is its lower end.
    double most = 0;
};

inline bool is_band(const GoldenCase& c) {
    return c.most > 0;
}

std::vector<GoldenCase> renewal_cases();    // V1, V2, V12, S2
std::vector<GoldenCase> spare_cases();      // V3 … V6
std::vector<GoldenCase> step_cases();       // V7 … V11
std::vector<GoldenCase> published_cases();  // S1, S3 … S7
std::vector<GoldenCase> golden_cases();     // all

}  // namespace orrery
