// SPDX-License-Identifier: Apache-2.0
// A run that `orrery train --record FOLDER` wrote down: the scenario that it was of, and what every
// rank did (runtime/measure/recording.h). run.yaml is a map of:
//   1. scenario   absolute path of the scenario file
//   2. checksum   CRC-32C of that file: if it has changed since, the recording is no longer of it
//   3. overrides  list of --set
//   4. machine    where it ran, in words
//   5. ranks      how many
//   6. overlaps   whether the ranks' devices work beside the processes, on several streams
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/program.h"
#include "engine/result.h"
#include "runtime/measure/measured_timeline.h"
#include "runtime/measure/recording.h"
#include "scenarios/scenario.h"

namespace orrery {

struct RunDescription {
    std::filesystem::path scenario;
    std::vector<std::string> overrides;
    std::string machine;
    std::uint32_t ranks = 1;
    bool overlaps = false;
};

// Makes the folder, and takes away the description of an older run.
Result<void> begin_run_folder(const std::filesystem::path& folder);
// When all ranks have written their recordings.
Result<void> write_run_description(const std::filesystem::path& folder, const RunDescription& run);

struct RecordedRun {
    RunDescription description;
    Scenario scenario;
    Program program;
    std::vector<MeasuredStep> steps;
    std::vector<RankRecording> ranks;

    // How many processes share the machine that a kernel ran on: a GPU is its rank's alone.
    std::uint32_t sharing_ranks() const {
        return description.overlaps
                   ? 1
                   : std::min(description.ranks, scenario.cluster.node.gpus_per_node);
    }
};
ResultOrErrors<RecordedRun> read_recorded_run(const std::filesystem::path& folder);

}  // namespace orrery
