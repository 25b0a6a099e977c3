// SPDX-License-Identifier: Apache-2.0
// The files of a training run belong to one run: its checkpoints (job.checkpoint_folder), its log
// (job.log_file) and its curves (job.tensorboard_folder). A claim locks them for as long as it
// lives, so that a second run at the same time is refused, and finds what an earlier run has left
// there, so that nothing is overwritten or mixed without being asked. One process of a run claims
// them: rank 0, or the supervisor. The lock is flock() on a file `.lock` in each folder and on the
// log; it ends with the process. Where a file system has no locks, there is none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/training_job.h"

namespace orrery {

enum class RunBegin : std::uint8_t {
    anew,       // an earlier run's files are an error
    overwrite,  // they are deleted before the first step
    resume,     // they are what the run goes on from
};

class RunClaim {
public:
    // Creates the checkpoint folder, except to resume. Error::where is the path.
    static ResultOrErrors<RunClaim> make(const TrainingJob& job, RunBegin begin);

    // What `overwrite` will delete: "run: checkpoints up to step-000060"; empty if there is
    // nothing.
    const std::vector<std::string>& earlier() const { return earlier_; }
    // Deletes it. Called when all that can be checked before the first step is well.
    Result<void> clear() const;

private:
    class Lock;
    RunClaim() = default;
    Errors lock(const TrainingJob& job, bool resumes);
    Errors find(const TrainingJob& job);
    Result<void> lock_file(const std::filesystem::path& file, const char* key);

    std::vector<std::shared_ptr<Lock>> locks_;
    std::vector<std::string> earlier_;
    std::vector<std::filesystem::path> doomed_;  // paths that clear() deletes
    std::filesystem::path emptied_;              // a log that clear() empties
};

}  // namespace orrery
