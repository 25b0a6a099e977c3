// SPDX-License-Identifier: Apache-2.0
// Spans of the coarse clock as scenario files write them: "54 d", "3d4h", "10 min", "0.59 s".
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/wall_time.h"

namespace orrery {

// One or more numbers with a unit (d, h, min, s, ms, us), largest unit first. Error::where is
// empty.
Result<WallTime> parse_wall_time(std::string_view text);

// For people: "3.09 h", "54.0 d", "590 ms".
std::string to_short_text(WallTime time);
// A point in time, for timelines: "12d 03:04:05".
std::string to_clock_text(WallTime time);

}  // namespace orrery
