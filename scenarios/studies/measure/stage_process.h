// SPDX-License-Identifier: Apache-2.0
// Runs a part of a long measurement in a process of its own. A part that crashes, hangs or leaves a
// GPU's context unusable then costs only its own time. The process and its children end when its
// limits are reached, and when this process ends.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct StageCommand {
    std::vector<std::string> words;  // program and arguments
    // In addition to this process's own
    std::vector<std::pair<std::string, std::string>> environment;
    std::chrono::milliseconds limit{600'000};        // for the whole stage
    std::chrono::milliseconds quiet_limit{600'000};  // for a time without output
};

struct StageEnd {
    int status = 0;  // as in a shell: 128 + signal; 127 if it cannot be started
    bool timed_out = false;
    double seconds = 0;
    bool ok() const { return status == 0 && !timed_out; }
    // "ended well", "ended with status 3", "was ended by signal 11", "had not ended after 20 s".
    std::string words() const;
};

// Runs the process to its end. `output` gets its standard output and error together as they arrive;
// the pieces need not be lines.
Result<StageEnd> run_stage(const StageCommand& command,
                           const std::function<void(const std::string&)>& output);

}  // namespace orrery
