// SPDX-License-Identifier: Apache-2.0
// Words that reports share: numbers with commas, counts, names of causes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/program/cause.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

// The width of a report on a terminal.
inline constexpr std::size_t kReportColumns = 100;

// The name of a cause in all reports: "exposed tensor-parallel".
std::string words_for(Cause cause);
// "precision bf16, schedule 1f1b": assumed values of keys that the scenario does not give; empty if
// it gives all.
std::string assumed_words(const Answer& answer);

// "reduce_scatter on dp" -> "reduce scatter on dp"
std::string spaced(std::string_view name);

// 12345 -> "12,345"
std::string thousands(std::int64_t value);

// "+3.20", "-0.5"; a value that rounds to zero has no sign: "0.0".
std::string signed_text(double value, int digits);

// "1 point", "12,288 points".
std::string counted(std::int64_t count, std::string_view what);

}  // namespace orrery
