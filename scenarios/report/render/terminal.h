// SPDX-License-Identifier: Apache-2.0
// The verbosity and colours of this run on standard error and standard output. The options of every
// command (scenarios/program/common_options.h) set them once, before the command runs.
#pragma once

#include <string>

namespace orrery {

struct Terminal {
    bool quiet = false;           // only errors: no notes, no progress bars
    bool verbose = false;         // also files that are read and written, with the time
    bool no_progress = false;     // no progress bars
    std::string colour = "auto";  // auto: if standard error is a terminal; always; never
};

// The settings of this process. A test that changes them restores them.
Terminal& terminal();

// The line with "error:" in red if errors are coloured: by --color, and with `auto` on a terminal
// without NO_COLOR.
std::string coloured_error(const std::string& line);

// Prints "orrery: …" on standard error, unless the run is quiet.
void print_note(const std::string& note);
// The same, only if the run is verbose.
void print_detail(const std::string& detail);

}  // namespace orrery
