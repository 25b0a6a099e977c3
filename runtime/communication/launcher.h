// SPDX-License-Identifier: Apache-2.0
// Starts the processes of a job on this machine, and ensures that all of them end. If one fails or
// the launcher gets a signal, the others get SIGTERM, and SIGKILL later. If the launcher dies,
// the kernel ends them.
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
    std::chrono::milliseconds grace{5'000};  // between SIGTERM and SIGKILL after a failure
    // The same after a signal to the launcher, with time for a checkpoint. A second signal ends it.
    std::chrono::milliseconds stop_grace{60'000};
};

// Runs `command` num_processes times with RANK, WORLD_SIZE, LOCAL_RANK and ORRERY_STORE set.
// Standard input, output and error are shared. Returns the exit status of the rank that failed
// first, 0 if none did; 128 + signal if a signal ended it. The status of a killed rank takes
// precedence over that of a rank that gave up because of it. SIGINT and SIGTERM are forwarded.
Result<int> launch_processes(const LaunchOptions& options);

}  // namespace orrery
