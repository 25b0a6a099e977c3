// SPDX-License-Identifier: Apache-2.0
// Numbers with a unit, as scenario files write them: "200 Gbps", "25 GB/s", "80 GiB", "2 us", "312
// TFLOPS". A number without a unit is an error that lists the units, because a guess could be wrong
// by a factor of eight or 1.024^n. Decimal arithmetic is exact and rounds once to the unit's
// integer.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/units.h"

namespace orrery {

// Error::where is empty, because only the caller knows the place.
Result<Bandwidth> parse_bandwidth(std::string_view text);
Result<Bytes> parse_bytes(std::string_view text);
Result<Time> parse_time(std::string_view text);
Result<FlopRate> parse_flop_rate(std::string_view text);

// Text in the largest unit in which the value is a whole number. It parses to the same value.
std::string to_text(Bandwidth bandwidth);
std::string to_text(Bytes bytes);
std::string to_text(Time time);

// Text for people with three significant digits ("31.4 GiB", "6.34 s").
std::string to_short_text(Bytes bytes);
std::string to_short_text(Time time);

}  // namespace orrery
