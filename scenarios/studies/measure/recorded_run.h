// SPDX-License-Identifier: Apache-2.0
// A run that `orrery train --record FOLDER` wrote down: the scenario that it was of, and what every
// rank did (runtime/measure/recording.h). run.json is an object of:
//   1. machine     where it ran, in words
//   2. ranks       how many
//   3. overlaps    whether the ranks' devices work beside the processes, on several streams
//   4. provenance  the effective scenario and the build (format/provenance/provenance.h)
// It needs no file outside its folder: it can be moved, and the scenario file may change.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "runtime/measure/measured_timeline.h"
#include "runtime/measure/recording.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct RunDescription {
    std::string machine;
    std::uint32_t ranks = 1;
    bool overlaps = false;
    BuildIdentity build{};  // that recorded it
};

// Makes the folder, and takes away the description of an older run.
Result<void> begin_run_folder(const std::filesystem::path& folder);
// The file of that folder that describes the run.
std::filesystem::path run_description_file(const std::filesystem::path& folder);

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
