// SPDX-License-Identifier: Apache-2.0
#include "models/plan/divisors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::string valid_divisors(std::int64_t n, std::int64_t limit, std::int64_t unit) {
    std::vector<std::int64_t> valid = divisors(n);
    std::erase_if(valid, [&](std::int64_t d) { return d > limit || d % unit != 0; });
    return fmt::format("{}", fmt::join(valid, ", "));
}

}  // namespace orrery
