// SPDX-License-Identifier: Apache-2.0
// Reads the Chakra execution traces of a job: NAME.0.et, NAME.1.et …, one for each rank, and
// comm_groups.json ({"group": [ranks]}) in the same folder, as ASTRA-sim does.
#pragma once

#include <filesystem>

#include "engine/base/result.h"
#include "scenarios/studies/replay/foreign_step.h"

namespace orrery {

// `path`: the folder, or the trace of rank 0.
ResultOrErrors<ForeignStep> read_chakra(const std::filesystem::path& path);

// One rank's file, already read; `source` is its name in errors.
ResultOrErrors<std::vector<ForeignOp>> parse_chakra(std::string_view bytes,
                                                    const std::string& source);

}  // namespace orrery
