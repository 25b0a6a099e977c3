// SPDX-License-Identifier: Apache-2.0
// A run recorded by `orrery train --record FOLDER`: its scenario, and the ops of every rank
// (runtime/measure/recording.h). run.json is an object with
//   1. machine     the machine, in words
//   2. ranks       the number of ranks
//   3. overlaps    whether the ranks' devices work beside the processes, on several streams
//   4. provenance  the effective scenario and the build (format/provenance/provenance.h)
// It needs no file outside its folder. The folder can be moved, and the scenario file may change.
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
    BuildIdentity build{};  // the build that recorded it
};

// Makes the folder and removes the description of an older run.
Result<void> begin_run_folder(const std::filesystem::path& folder);
// The file of that folder that describes the run.
std::filesystem::path run_description_file(const std::filesystem::path& folder);

struct RecordedRun {
    RunDescription description;
    Scenario scenario;
    Program program;
    std::vector<MeasuredStep> steps;
    std::vector<RankRecording> ranks;

    // The number of processes that share the machine on which a kernel ran. A GPU is used by its
    // rank alone.
    std::uint32_t sharing_ranks() const {
        return description.overlaps
                   ? 1
                   : std::min(description.ranks, scenario.cluster.node.gpus_per_node);
    }
};
ResultOrErrors<RecordedRun> read_recorded_run(const std::filesystem::path& folder);

}  // namespace orrery
