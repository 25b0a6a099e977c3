// SPDX-License-Identifier: Apache-2.0
// An answer as text for people, at most 100 columns wide: the result, the waterfall from the
// device's peak to the MFU, memory, links and collectives.
#pragma once

#include <cstdint>
#include <string>

#include "engine/cause.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

inline constexpr std::size_t kReportColumns = 100;

std::string console_report(const Answer& answer);

// Its part "Where the peak goes".
std::string waterfall_report(const Answer& answer);
// "precision bf16, schedule 1f1b": what the report says was assumed; empty if nothing was.
std::string assumed_words(const Answer& answer);
// How the waterfalls of all reports call a cause: "exposed tensor-parallel".
std::string words_for(Cause cause);

// 12345 -> "12,345"
std::string thousands(std::int64_t value);

// "1 point", "12,288 points".
std::string counted(std::int64_t count, std::string_view what);

}  // namespace orrery
