// SPDX-License-Identifier: Apache-2.0
// The processes that train together: this process's place among them, and how to start them on this
// machine (runtime/communication).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/result.h"
#include "runtime/communication/transport.h"

namespace orrery {

struct World {
    std::uint32_t rank = 0;
    std::uint32_t num_ranks = 1;
    std::unique_ptr<Transport> transport;  // null if alone
};

// From the environment of the process: torchrun's, Slurm's, Open MPI's or the launcher's variables.
// Waits for the others if there are any.
Result<World> join_world();

// Runs this program once more for every rank, with these arguments, and waits for all. The exit
// status of the rank that failed first.
Result<int> run_ranks(std::uint32_t num_ranks, const std::vector<std::string>& arguments);

}  // namespace orrery
