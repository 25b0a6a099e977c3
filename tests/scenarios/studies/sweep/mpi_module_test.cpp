// SPDX-License-Identifier: Apache-2.0
// The program under a real mpirun: two ranks, one of which is killed.
#include <gtest/gtest.h>

#include <string>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

constexpr const char* kScenario = R"(cluster:
  nodes: 1
  node: {base: dgx-a100-80g, gpus_per_node: 4}
model: {num_layers: 4, hidden_size: 512, num_attention_heads: 8, seq_length: 512, vocab_size: 4096}
plan: {micro_batch_size: 1, global_batch_size: 16}
)";

class UnderMpi : public ::testing::Test {
protected:
    void SetUp() override {
        if (run_shell("command -v mpirun", folder_.path()).status != 0 ||
            !std::filesystem::exists(
                std::filesystem::path{ORRERY_PROGRAM}.replace_filename("liborrery_mpi.so"))) {
            GTEST_SKIP() << "there is no MPI here";
        }
        write_text(folder_.path() / "s.yaml", kScenario);
        std::string seeds = "1";
        for (int seed = 2; seed <= 250; ++seed) {
            seeds += ", " + std::to_string(seed);
        }
        write_text(folder_.path() / "study.yaml",
                   "scenario: s.yaml\ngrid: {plan.tensor_model_parallel_size: [1, 2], "
                   "plan.micro_batch_size: [1, 2], job.seed: [" +
                       seeds + "]}\n");
    }
    // Open MPI's libraries leak, which a sanitized build would take for ours.
    std::string mpirun(const std::string& arguments) const {
        return "ASAN_OPTIONS=detect_leaks=0 "
               "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
               "mpirun -n 2 --oversubscribe " ORRERY_PROGRAM " " +
               arguments;
    }

    TestFolder folder_;
};

TEST_F(UnderMpi, NoPointOfAThousandIsLostWhenARankIsKilled) {
    // Killed as soon as both ranks have finished some points.
    const Ran killed = run_shell(
        mpirun("sweep study.yaml") +
            " >out 2>err & job=$!\n"
            "for i in $(seq 600); do\n"
            "  [ -s study.sqlite.part-0 ] && [ -s study.sqlite.part-1 ] && break; sleep 0.05\n"
            "done\nsleep 0.3\n"
            "victim=$(pgrep -P $job | tail -n 1); kill -9 $victim; wait $job; echo $victim $?\n",
        folder_.path());
    EXPECT_EQ(killed.out.find(" 0\n"), std::string::npos) << killed.out << killed.err;
    const Ran after = run_shell(mpirun("sweep study.yaml --csv points.csv"), folder_.path());
    ASSERT_EQ(after.status, 0) << after.err;
    EXPECT_NE(after.out.find("  1,000  "), std::string::npos) << after.out;
    EXPECT_EQ(after.out.find(" 0 of them finished before"), std::string::npos) << after.out;
    EXPECT_EQ(run_shell("tail -n +2 points.csv | sort -u | wc -l", folder_.path()).out, "1000\n");
    EXPECT_EQ(run_shell("ls study.sqlite.part-* 2>/dev/null", folder_.path()).out, "");
    const Ran alone = run_shell(ORRERY_PROGRAM " sweep study.yaml --csv alone.csv", folder_.path());
    EXPECT_NE(alone.out.find("1,000 of them finished before"), std::string::npos) << alone.out;
    EXPECT_EQ(read_text(folder_.path() / "alone.csv"), read_text(folder_.path() / "points.csv"));
}

TEST_F(UnderMpi, AMistakeIsToldOnceAndEndsAllRanks) {
    write_text(folder_.path() / "results", "not results, but somebody's notes: keep them");
    const Ran ran = run_shell(mpirun("sweep study.yaml -r results"), folder_.path(), 60);
    EXPECT_NE(ran.status, 0);
    EXPECT_NE(ran.status, 124) << "hangs";
    const std::size_t first = ran.err.find("file is not a database");
    ASSERT_NE(first, std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("file is not a database", first + 1), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace orrery
