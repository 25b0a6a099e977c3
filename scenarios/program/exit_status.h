// SPDX-License-Identifier: Apache-2.0
// Exit statuses of the program, and how its commands tell errors.
#pragma once

#include "engine/base/result.h"

namespace orrery {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFinding = 1;  // the answer is a finding: a suspect, a difference
inline constexpr int kExitUserError = 2;
inline constexpr int kExitDefect = 70;        // of the program itself (EX_SOFTWARE of sysexits.h)
inline constexpr int kExitSignal = 128;       // and the signal's number, as a shell says
inline constexpr int kExitInterrupted = 130;  // by Ctrl-C

// One line each on standard error. Returns kExitUserError.
int report_errors(const Errors& errors);
int report_error(const Error& error);

// One line on standard error for what no input may cause. Returns kExitDefect.
int report_defect(const std::string& what);

// Writes to standard output and makes sure that it arrived: a full disk is an error. A reader that
// has closed its pipe is none.
int print_output(const std::string& text);

}  // namespace orrery
