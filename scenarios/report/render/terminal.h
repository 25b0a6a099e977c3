// SPDX-License-Identifier: Apache-2.0
// How this run of the program speaks on standard error and standard output: the options of every
// command (scenarios/program/common_options.h) set it once, before the command runs.
#pragma once

#include <string>

namespace orrery {

struct Terminal {
    bool quiet = false;           // no notes, no progress bars: errors only
    bool verbose = false;         // also what is read and written, and the time that it took
    bool no_progress = false;     // no progress bars
    std::string colour = "auto";  // auto: where standard error is a terminal; always; never
};

// Of this process. A test that changes it restores it.
Terminal& terminal();

// "error:" in red where errors are coloured: --color, and of `auto` a terminal without NO_COLOR.
std::string coloured_error(const std::string& line);

// One line on standard error, unless the run is quiet: "orrery: …".
void print_note(const std::string& note);
// The same, only if the run is verbose.
void print_detail(const std::string& detail);

}  // namespace orrery
