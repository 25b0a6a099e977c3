// SPDX-License-Identifier: Apache-2.0
// The processes that train together: this process's place among them, and how to start them on this
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
    std::unique_ptr<Transport> transport;  // null if alone
};

// Which rank of how many this process is: from its environment, torchrun's, Slurm's, Open MPI's or
// the launcher's variables.
struct Place {
    std::uint32_t rank = 0;
    std::uint32_t num_ranks = 1;
};
Result<Place> find_place();

// How long a rank waits for another: to meet, and for each message.
inline constexpr std::chrono::milliseconds kPatience{120'000};
// Waits for the others if there are any.
Result<ProcessWorld> join_world(std::chrono::milliseconds patience = kPatience);

// Whether this is the rank to tell of an error: the first rank that has one. All ranks ask at
// the same place; empty if none has one.
std::optional<std::uint32_t> first_to_fail(ProcessWorld& world, bool failed);

// Runs this program once more for every rank, with these arguments, and waits for all. The exit
// status of the rank that failed first.
Result<int> run_ranks(std::uint32_t num_ranks, const std::vector<std::string>& arguments);

}  // namespace orrery
