// SPDX-License-Identifier: Apache-2.0
// Exit statuses of the program, and how its commands tell errors.
#pragma once

#include "engine/result.h"

namespace orrery {

inline constexpr int kExitOk = 0;
inline constexpr int kExitUserError = 2;
inline constexpr int kExitInterrupted = 130;  // as a shell says of what Ctrl-C has ended

// One line each on standard error. Returns kExitUserError.
int report_errors(const Errors& errors);
int report_error(const Error& error);

// Writes to standard output and makes sure that it arrived: a full disk or a closed pipe is an
// error.
int print_output(const std::string& text);

}  // namespace orrery
