// SPDX-License-Identifier: Apache-2.0
// A step of a Program as Chakra execution traces, which ASTRA-sim and other simulators run: one
// file per rank (NAME.0.et …) and comm_groups.json. Kernels have the durations of the simulated
// step.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "engine/world/simulation.h"

namespace orrery {

// The trace of one rank. `ops` are the rank's ops of one step, in any order. `groups` gets the
// names and members of its groups.
using ChakraGroups = std::vector<std::pair<std::string, std::vector<RankId>>>;
std::string chakra_trace(const Program& program,
                         RankId rank,
                         std::span<const TracedOp> ops,
                         ChakraGroups& groups);

// `ops` has the ops of all ranks, ordered by rank. Makes the folder if it is missing.
Result<void> write_chakra(const std::filesystem::path& folder,
                          const std::string& name,
                          const Program& program,
                          std::span<const TracedOp> ops);

}  // namespace orrery
