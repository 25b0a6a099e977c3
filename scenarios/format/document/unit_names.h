// SPDX-License-Identifier: Apache-2.0
// The units that quantities and spans of time take, largest first, and the exact text of a span.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/wall_time.h"

namespace orrery {

// Of quantity.h, other spellings included.
std::vector<std::string_view> bandwidth_units();
std::vector<std::string_view> bytes_units();
std::vector<std::string_view> time_units();
std::vector<std::string_view> flop_rate_units();
// Of wall_time_text.h.
std::vector<std::string_view> wall_time_units();

// In the largest unit in which the value is a whole number; parses back to the same value.
std::string to_text(WallTime time);

}  // namespace orrery
