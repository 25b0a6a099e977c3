// SPDX-License-Identifier: Apache-2.0
// A part of a long measurement in a process of its own: one that crashes, hangs or leaves a GPU's
// context unusable costs its own time only. The process and all that it starts end with its limits,
// and with this process.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct StageCommand {
    std::vector<std::string> words;                                // program and arguments
    std::vector<std::pair<std::string, std::string>> environment;  // beside this process's own
    std::chrono::milliseconds limit{600'000};                      // of the whole
    std::chrono::milliseconds quiet_limit{600'000};                // without any output
};

struct StageEnd {
    int status = 0;  // as a shell tells it: 128 + signal; 127 if it cannot be started
    bool timed_out = false;
    double seconds = 0;
    bool ok() const { return status == 0 && !timed_out; }
    // "ended well", "ended with status 3", "was ended by signal 11", "had not ended after 20 s".
    std::string words() const;
};

// Runs it to its end. `output` gets what it writes (standard output and error together), as it
// comes; pieces need not be lines.
Result<StageEnd> run_stage(const StageCommand& command,
                           const std::function<void(const std::string&)>& output);

}  // namespace orrery
