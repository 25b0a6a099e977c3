// SPDX-License-Identifier: Apache-2.0
// Exit statuses of the program, and the error output of its commands.
#pragma once

#include "engine/base/result.h"
#include "engine/base/standard_error.h"

namespace orrery {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFinding = 1;  // the answer is a finding: a suspect, a difference
inline constexpr int kExitUserError = 2;
inline constexpr int kExitDefect = 70;        // of the program itself (EX_SOFTWARE of sysexits.h)
inline constexpr int kExitSignal = 128;       // plus the number of the signal, as in a shell
inline constexpr int kExitInterrupted = 130;  // by Ctrl-C

// Prints one line for each on standard error. Returns kExitUserError.
int report_errors(const Errors& errors);
int report_error(const Error& error);

// Prints one line on standard error for an error that no input may cause. Returns kExitDefect.
int report_defect(const std::string& what);

// Writes to standard output and checks that all of it was written. A full disk is an error; a
// reader that has closed its pipe is not.
int print_output(const std::string& text);

}  // namespace orrery
