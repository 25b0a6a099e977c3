// SPDX-License-Identifier: Apache-2.0
// The processes that train together: this process's place among them, and starting them on this
// machine (runtime/communication).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/communication/transport.h"

namespace orrery {

struct ProcessWorld {
    std::uint32_t rank = 0;
    std::uint32_t num_ranks = 1;
    std::unique_ptr<Transport> transport;  // null if there is one process
};

// The rank of this process and the number of ranks, from the environment variables of torchrun,
// Slurm, Open MPI or the launcher.
struct Place {
    std::uint32_t rank = 0;
    std::uint32_t num_ranks = 1;
};
Result<Place> find_place();

// How long a rank waits for another one: to connect, and for each message.
inline constexpr std::chrono::milliseconds kPatience{120'000};
// Connects with the other ranks, if there are any.
Result<ProcessWorld> join_world(std::chrono::milliseconds patience = kPatience);

// The first rank with an error, which should report it; no value if no rank has one. All ranks call
// it at the same place.
std::optional<std::uint32_t> first_to_fail(ProcessWorld& world, bool failed);

// Runs this program once for every rank with these arguments, and waits for all. Returns the exit
// status of the rank that failed first.
Result<int> run_ranks(std::uint32_t num_ranks, const std::vector<std::string>& arguments);

}  // namespace orrery
