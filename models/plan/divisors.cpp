// SPDX-License-Identifier: Apache-2.0
#include "models/plan/divisors.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

std::vector<std::int64_t> divisors(std::int64_t n) {
    ORRERY_CHECK(n > 0);
    std::vector<std::int64_t> found;
    for (std::int64_t d = 1; d <= n / d; ++d) {
        if (n % d == 0) {
            found.push_back(d);
            if (d != n / d) {
                found.push_back(n / d);
            }
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace orrery
