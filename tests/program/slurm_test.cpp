// SPDX-License-Identifier: Apache-2.0
// Sweeps and training under a real Slurm of one node, where this machine has one.
#include <gtest/gtest.h>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

constexpr int kNoSlurm = 77;
constexpr const char* kStudy =
    "name: eight\n"
    "scenario: scenario.yaml\n"
    "grid: {plan.micro_batch_size: [1, 2, 4, 8], plan.global_batch_size: [16, 32]}\n";

class UnderSlurm : public ::testing::Test {
protected:
    UnderSlurm() {
        write_text(folder_.path() / "study.yaml", kStudy);
        std::filesystem::copy_file(
            std::filesystem::path{ORRERY_SOURCE_DIR} / "scenarios/laptop-2gpu.yaml",
            folder_.path() / "scenario.yaml");
    }
    // `commands` find the program as $ORRERY.
    Ran run(const std::string& commands) const {
        write_text(folder_.path() / "commands", "set -e\n" + commands);
        return run_shell("ORRERY='" ORRERY_PROGRAM "' '" ORRERY_SOURCE_DIR
                         "/tests/program/with_slurm.sh' bash commands",
                         folder_.path());
    }
    // Columns that do not depend on how long a machine took.
    std::string points(const std::string& table) const {
        return run_shell("sort " + table, folder_.path()).out;
    }
    TestFolder folder_;
};

TEST_F(UnderSlurm, AnArraysTasksShareAStudyAndMergeGivesItWhole) {
    // One task fails at first; the second job finds the points of the others. Slurm's own --wait
    // looks every ten seconds.
    const Ran ran =
        run("states() {\n"
            "    while squeue --noheader --jobs=$1 | grep -q .; do sleep 0.1; done\n"
            "    scontrol --oneliner show job $1 | grep -o 'JobState=[A-Z]*' | sort -u\n"
            "}\n"
            "states $(sbatch --parsable --array=0-2 --output=task-%a.out --wrap "
            "\"[ \\$SLURM_ARRAY_TASK_ID != 1 ] && $ORRERY sweep study.yaml\") >first\n"
            "states $(sbatch --parsable --array=0-2 --output=again-%a.out --wrap "
            "\"$ORRERY sweep study.yaml\") >second\n"
            "\"$ORRERY\" merge study.*-of-3.sqlite -o all.sqlite --csv all.csv\n"
            "\"$ORRERY\" sweep study.yaml -r alone.sqlite --csv alone.csv\n");
    if (ran.status == kNoSlurm) {
        GTEST_SKIP() << ran.err;
    }
    ASSERT_EQ(ran.status, 0) << ran.out << ran.err;
    EXPECT_EQ(read_text(folder_.path() / "first"), "JobState=COMPLETED\nJobState=FAILED\n");
    EXPECT_EQ(read_text(folder_.path() / "second"), "JobState=COMPLETED\n");
    EXPECT_NE(ran.out.find("all.sqlite: 8 points, 8 of them new"), std::string::npos) << ran.out;
    EXPECT_EQ(points("all.csv"), points("alone.csv"));
    EXPECT_FALSE(points("all.csv").empty());
    for (const auto& [task, known] : {std::pair{"0", "3"}, {"1", "0"}, {"2", "2"}}) {
        const std::string said =
            read_text(folder_.path() / ("again-" + std::string{task} + ".out"));
        EXPECT_NE(said.find(std::string{known} + " of them finished before"), std::string::npos)
            << said;
    }
}

TEST_F(UnderSlurm, TheTasksOfAStepShareACounter) {
    const Ran ran =
        run("srun --mpi=list 2>&1 | grep -q pmix || exit 77\n"
            "srun --overcommit --mpi=pmix -n 2 \"$ORRERY\" sweep study.yaml --csv both.csv\n"
            "\"$ORRERY\" sweep study.yaml -r alone.sqlite --csv alone.csv >/dev/null\n");
    if (ran.status == kNoSlurm) {
        GTEST_SKIP() << ran.err;
    }
    ASSERT_EQ(ran.status, 0) << ran.out << ran.err;
    EXPECT_NE(ran.out.find("  0 of them finished before"), std::string::npos) << ran.out;
    EXPECT_EQ(points("both.csv"), points("alone.csv"));
}

TEST_F(UnderSlurm, TasksAreTheRanksOfATraining) {
    const std::string train =
        "\"$ORRERY\" train '" ORRERY_SOURCE_DIR
        "/scenarios/train-tiny-cpu-4.yaml' --set job.steps=20 --set job.log_interval=5";
    const Ran ran =
        run("srun --overcommit -n 4 " + train + " >four.out\n" + train + " --nproc 4 >local.out\n");
    if (ran.status == kNoSlurm) {
        GTEST_SKIP() << ran.err;
    }
    ASSERT_EQ(ran.status, 0) << ran.out << ran.err;
    const auto losses = [&](const char* file) {
        return run_shell("grep -o 'lm loss: [^|]*' " + std::string{file}, folder_.path()).out;
    };
    EXPECT_EQ(losses("four.out"), losses("local.out"));
    EXPECT_FALSE(losses("four.out").empty());
}

}  // namespace
}  // namespace orrery
