// SPDX-License-Identifier: Apache-2.0
// Runs the points of a study that its results do not have yet: on all cores of this machine, each
// worker a process, or on the ranks of an MPI job. Each worker writes what it has finished to a
// file of its own beside the results (SQLite has one writer), and the next start, or the end,
// moves those points over. So whatever is killed when: a finished point is never lost and never
// run again, and a point that ends its process takes no other with it.
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
    AnswerText text;  // that the results keep
    std::function<void(double)> progress;
};

struct SweepOutcome {
    std::int64_t points = 0;           // of the shard, equal ones counted once
    std::int64_t known = 0;            // of these, finished before
    std::int64_t outdated = 0;         // of these, run again: another build had run them
    std::vector<PointResult> results;  // in the study's order
    // "point 3 (plan.x=2) ended its process by signal 9": run again at the next start.
    std::vector<std::string> crashed;
};

// Under MPI only rank 0 has an outcome; `mpi` may be null.
Result<std::optional<SweepOutcome>> sweep(const Study& study,
                                          const SweepOptions& options,
                                          MpiWorld* mpi);

// Adds the points of `from` to the results in `into`, which may be new. How many were new.
Result<std::int64_t> merge_results(const std::vector<std::filesystem::path>& from,
                                   const std::filesystem::path& into);

}  // namespace orrery
