// SPDX-License-Identifier: Apache-2.0
// Runs the points of a study that have no result yet, on all cores of this machine, with each
// worker a process, or on the ranks of an MPI job. Each worker writes its finished points to a file
// of its own beside the results, because SQLite has one writer. The end of the sweep, or the next
// start, moves these points to the results. A kill at any time therefore loses no finished point,
// no finished point runs again, and a point that ends its process does not affect others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/sweep/mpi_world.h"
#include "scenarios/studies/sweep/results_file.h"
#include "scenarios/studies/sweep/run_point.h"
#include "scenarios/studies/sweep/shard.h"
#include "scenarios/studies/sweep/study.h"

namespace orrery {

struct SweepOptions {
    std::filesystem::path results;
    std::uint32_t jobs = 1;  // processes; under MPI each rank is one
    Shard shard;
    AnswerText text;  // text that the results keep
    std::function<void(double)> progress;
};

struct SweepOutcome {
    std::int64_t points = 0;           // of the shard; equal points count once
    std::int64_t known = 0;            // points that were finished before
    std::int64_t outdated = 0;         // points that run again because another build had run them
    std::vector<PointResult> results;  // in the study's order
    // "point 3 (plan.x=2) ended its process by signal 9"; it runs again at the next start.
    std::vector<std::string> crashed;
};

// Under MPI only rank 0 has an outcome; `mpi` may be null.
Result<std::optional<SweepOutcome>> sweep(const Study& study,
                                          const SweepOptions& options,
                                          MpiWorld* mpi);

// Adds the points of `from` to the results in `into`, which may be a new file. Returns the number
// of new points.
Result<std::int64_t> merge_results(const std::vector<std::filesystem::path>& from,
                                   const std::filesystem::path& into);

}  // namespace orrery
