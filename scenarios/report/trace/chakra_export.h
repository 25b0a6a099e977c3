// SPDX-License-Identifier: Apache-2.0
// A step of a Program as Chakra execution traces, which ASTRA-sim and other simulators run: one
// file a rank, NAME.0.et …, and comm_groups.json. Kernels have the durations of the simulated step.
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

// The trace of one rank; `ops` are its own of one step, in any order. Group names are written to
// `groups` as JSON would have them: name, members.
using ChakraGroups = std::vector<std::pair<std::string, std::vector<RankId>>>;
std::string chakra_trace(const Program& program,
                         RankId rank,
                         std::span<const TracedOp> ops,
                         ChakraGroups& groups);

// `ops` of all ranks, ordered by rank. The folder is made if it is not there.
Result<void> write_chakra(const std::filesystem::path& folder,
                          const std::string& name,
                          const Program& program,
                          std::span<const TracedOp> ops);

}  // namespace orrery
