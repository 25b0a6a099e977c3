// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/run_claim.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/test_folder.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream{path} << text;
}

TrainingJob job_in(const TestFolder& folder) {
    TrainingJob job;
    job.checkpoint_folder = folder / "run";
    job.log_file = folder / "log.jsonl";
    job.tensorboard_folder = folder / "curves";
    return job;
}

void leave_a_run(const TrainingJob& job) {
    write(job.checkpoint_folder / "latest", "step-000020");
    write(job.checkpoint_folder / "step-000010/meta.json", "{}");
    write(job.checkpoint_folder / "step-000020/meta.json", "{}");
    write(job.checkpoint_folder / "notes.txt", "the user's own");
    write(job.log_file, "{}\n");
    write(job.tensorboard_folder / "events.out.tfevents.1.host.2.0", "x");
}

TEST(RunClaim, NothingIsInTheWayOfAFirstRun) {
    const TestFolder folder;
    EXPECT_TRUE(RunClaim::make(job_in(folder), RunBegin::anew));
    EXPECT_TRUE(fs::is_directory(folder / "run"));
    EXPECT_TRUE(RunClaim::make({}, RunBegin::anew));
}

TEST(RunClaim, AnEarlierRunIsToldAndKept) {
    const TestFolder folder;
    const TrainingJob job = job_in(folder);
    leave_a_run(job);
    const auto claim = RunClaim::make(job, RunBegin::anew);
    ASSERT_FALSE(claim);
    ASSERT_EQ(claim.error().size(), 3u);
    EXPECT_EQ(claim.error()[0].what, "has checkpoints up to step-000020 of an earlier run");
    EXPECT_NE(claim.error()[0].hint.find("--overwrite"), std::string::npos);
    EXPECT_NE(claim.error()[0].hint.find("--resume"), std::string::npos);
    EXPECT_TRUE(fs::exists(job.checkpoint_folder / "step-000020"));
    EXPECT_TRUE(RunClaim::make(job, RunBegin::resume));
}

TEST(RunClaim, OverwritingDeletesWhatARunHasMadeAndNoMore) {
    const TestFolder folder;
    const TrainingJob job = job_in(folder);
    leave_a_run(job);
    const auto claim = RunClaim::make(job, RunBegin::overwrite);
    ASSERT_TRUE(claim) << claim.error().front().to_string();
    EXPECT_EQ(claim->earlier().size(), 3u);
    EXPECT_TRUE(fs::exists(job.checkpoint_folder / "step-000010"));  // not before the first step
    ASSERT_TRUE(claim->clear());
    EXPECT_FALSE(fs::exists(job.checkpoint_folder / "latest"));
    EXPECT_FALSE(fs::exists(job.checkpoint_folder / "step-000010"));
    EXPECT_TRUE(fs::exists(job.checkpoint_folder / "notes.txt"));
    EXPECT_EQ(fs::file_size(job.log_file), 0u);
    EXPECT_FALSE(fs::exists(job.tensorboard_folder / "events.out.tfevents.1.host.2.0"));
}

TEST(RunClaim, WeightsThatARunBeginsWithAreNotDeleted) {
    const TestFolder folder;
    TrainingJob job = job_in(folder);
    leave_a_run(job);
    job.initial_weights = job.checkpoint_folder / "step-000020/model.safetensors";
    const auto claim = RunClaim::make(job, RunBegin::overwrite);
    ASSERT_FALSE(claim);
    EXPECT_EQ(claim.error().front().where, "job.initial_weights");
}

TEST(RunClaim, TwoRunsAtOnceInOneFolderAreOneTooMany) {
    const TestFolder folder;
    TrainingJob job = job_in(folder);
    {
        const auto first = RunClaim::make(job, RunBegin::anew);
        ASSERT_TRUE(first);
        for (const RunBegin begin : {RunBegin::anew, RunBegin::overwrite, RunBegin::resume}) {
            const auto second = RunClaim::make(job, begin);
            ASSERT_FALSE(second);
            EXPECT_EQ(second.error().front().what, "another run is writing to it now");
        }
        // The log alone is shared.
        TrainingJob other;
        other.log_file = job.log_file;
        EXPECT_FALSE(RunClaim::make(other, RunBegin::anew));
    }
    EXPECT_TRUE(RunClaim::make(job, RunBegin::anew));
}

TEST(RunClaim, OneFolderForAllIsLockedOnce) {
    const TestFolder folder;
    TrainingJob job = job_in(folder);
    job.tensorboard_folder = job.checkpoint_folder;
    job.log_file = job.checkpoint_folder / "log.jsonl";
    EXPECT_TRUE(RunClaim::make(job, RunBegin::anew));
}

TEST(RunClaim, AFolderThatCannotBeIsAnErrorAndADeviceNone) {
    const TestFolder folder;
    TrainingJob job;
    job.log_file = "/dev/null";
    EXPECT_TRUE(RunClaim::make(job, RunBegin::anew));
    write(folder / "file", "x");
    job.checkpoint_folder = folder / "file/run";
    EXPECT_FALSE(RunClaim::make(job, RunBegin::anew));
}

}  // namespace
}  // namespace orrery
