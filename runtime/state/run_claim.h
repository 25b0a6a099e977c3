// SPDX-License-Identifier: Apache-2.0
// Exclusive use of a training run's files: its checkpoints (job.checkpoint_folder), its log
// (job.log_file) and its curves (job.tensorboard_folder). A claim locks them during its lifetime,
// so that a second run at the same time is refused. It also finds files of an earlier run, so that
// nothing is overwritten or mixed unintentionally. One process of a run makes the claim: rank 0, or
// the supervisor. The lock is flock() on a file `.lock` in each folder and on the log, and ends
// with the process. File systems without locks are not protected.
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
    anew,       // files of an earlier run are an error
    overwrite,  // they are deleted before the first step
    resume,     // the run continues from them
};

class RunClaim {
public:
    // Creates the checkpoint folder, unless the run resumes. Error::where is the path.
    static ResultOrErrors<RunClaim> make(const TrainingJob& job, RunBegin begin);

    // The files that `overwrite` will delete: "run: checkpoints up to step-000060"; empty if there
    // are none.
    const std::vector<std::string>& earlier() const { return earlier_; }
    // Deletes them. Call it after all other checks before the first step have passed.
    Result<void> clear() const;

private:
    class Lock;
    RunClaim() = default;
    Errors lock(const TrainingJob& job, bool resumes);
    Errors find(const TrainingJob& job);
    Result<void> lock_file(const std::filesystem::path& file, const char* key);

    std::vector<std::shared_ptr<Lock>> locks_;
    std::vector<std::string> earlier_;
    std::vector<std::filesystem::path> doomed_;  // paths to be deleted by clear()
    std::filesystem::path emptied_;              // a log to be emptied by clear()
};

}  // namespace orrery
