// SPDX-License-Identifier: Apache-2.0
// `orrery serve FILE`: requests, the instances that serve them, and how long they wait.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"
#include "scenarios/program/views.h"

namespace orrery {

struct ServeArguments : ViewArguments {
    std::string file;
    std::vector<std::string> overrides;
    bool real = false;   // on this machine, in real time
    std::string listen;  // ADDRESS:PORT of the endpoint; empty: the workload is replayed
    std::int64_t max_queue = 256;
    std::int64_t max_body = 1 << 20;  // bytes
};

// Returns the exit status.
int serve_command(const ServeArguments& arguments);

}  // namespace orrery
