// SPDX-License-Identifier: Apache-2.0
// Divisors of a number: the possible parallel sizes, for hints and for the search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

// The divisors of n > 0, ascending, in O(sqrt n).
std::vector<std::int64_t> divisors(std::int64_t n);

// The divisors that are multiples of `unit` and at most `limit`, as a list for a hint.
std::string valid_divisors(std::int64_t n, std::int64_t limit, std::int64_t unit = 1);

}  // namespace orrery
