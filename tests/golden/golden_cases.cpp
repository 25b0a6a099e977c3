// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/golden_case.h"

namespace orrery {

std::vector<GoldenCase> golden_cases() {
    std::vector<GoldenCase> all;
    for (const auto& some : {renewal_cases(), spare_cases(), step_cases(), published_cases()}) {
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

}  // namespace orrery
