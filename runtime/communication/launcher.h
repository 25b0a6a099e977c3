// SPDX-License-Identifier: Apache-2.0
// Starts the processes of a job on this machine, and sees to it that all of them end: when one
// fails or the launcher is told to stop, the others are asked to (SIGTERM), then made to (SIGKILL);
// when the launcher dies, the kernel ends them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct LaunchOptions {
    std::uint32_t num_processes = 1;
    std::vector<std::string> command;        // program and arguments
    std::chrono::milliseconds grace{5'000};  // between asking and making, when one has failed
    // The same after a signal to the launcher: time for a checkpoint. A second signal ends it.
    std::chrono::milliseconds stop_grace{60'000};
};

// Runs `command` that many times with RANK, WORLD_SIZE, LOCAL_RANK and ORRERY_STORE set. Standard
// input, output and error are shared. Returns the exit status of the rank that failed first (128 +
// signal if a signal ended it, which goes before the status of one that only gave up), 0 if none
// did. SIGINT and SIGTERM are passed on.
Result<int> launch_processes(const LaunchOptions& options);

}  // namespace orrery
