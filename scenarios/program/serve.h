// SPDX-License-Identifier: Apache-2.0
// `orrery serve FILE`: requests, the instances that serve them, and the latencies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/views.h"
#include "scenarios/studies/serve/real_serving.h"

namespace orrery {

struct ServeArguments : ViewArguments {
    std::string file;
    std::vector<std::string> overrides;
    bool real = false;   // on this machine, in real time
    std::string device;  // cpu if empty, or cuda
    std::string listen;  // ADDRESS:PORT of the endpoint; empty: the workload is replayed
    std::int64_t max_queue = 256;
    std::int64_t max_body = 1 << 20;  // bytes
};

std::vector<CommandOption> serve_options(ServeArguments& arguments);

// Returns the exit status.
int serve_command(const ServeArguments& arguments);

// `orrery serve --real FILE`: a model decodes on this machine, and the workload is replayed.
// Returns the exit status.
int serve_for_real_command(const ServeArguments& arguments, const Scenario& scenario);

// `orrery serve --real` with an instance of several ranks: the command line of each.
std::vector<std::string> words_of_ranks(ServeArguments arguments);

// Starts the same command line for each rank. Returns the exit status.
int start_serving_ranks(const ServeArguments& arguments, std::int64_t num_ranks);

// `orrery serve --real --listen`: an endpoint with OpenAI's API in front of the instances. Runs
// until a signal comes, or the model cannot be computed any more.
Result<void> serve_clients(const ServeArguments& arguments,
                           const Scenario& scenario,
                           const RealInstances& instances);

}  // namespace orrery
