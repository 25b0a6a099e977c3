// SPDX-License-Identifier: Apache-2.0
// Units of quantities and of spans of time, largest first, and the exact text of a span.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/wall_time.h"

namespace orrery {

// Units of quantity.h, including other spellings.
std::vector<std::string_view> bandwidth_units();
std::vector<std::string_view> bytes_units();
std::vector<std::string_view> time_units();
std::vector<std::string_view> flop_rate_units();
// Units of wall_time_text.h.
std::vector<std::string_view> wall_time_units();

// Text in the largest unit in which the value is a whole number. It parses to the same value.
std::string to_text(WallTime time);

}  // namespace orrery
