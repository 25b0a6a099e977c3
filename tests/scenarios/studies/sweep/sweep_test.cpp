// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/sweep.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "scenarios/format/provenance/version.h"
#include "scenarios/studies/sweep/run_point.h"
#include "tests/test_folder.h"

namespace orrery {
namespace sweep_test {

using Access = ResultsFile::Access;

constexpr const char* kScenario = R"(cluster:
  nodes: 1
  node: {base: dgx-a100-80g, gpus_per_node: 4}
model: {num_layers: 4, hidden_size: 512, num_attention_heads: 8, seq_length: 512, vocab_size: 4096}
plan: {micro_batch_size: 1, global_batch_size: 16}
)";
constexpr const char* kStudy =
    "scenario: s.yaml\n"
    "grid: {plan.tensor_model_parallel_size: [1, 2, 3], plan.micro_batch_size: [1, 2]}\n";

class Sweep : public ::testing::Test {
protected:
    Sweep() {
        folder_.write("s.yaml", kScenario);
        change(kStudy);
        options_.results = folder_ / "r.sqlite";
        options_.jobs = 2;
    }
    void change(const std::string& text) {
        study_ = read_study_text(text, "study.yaml", folder_.path()).value();
    }
    SweepOutcome run() const {
        const auto outcome = sweep(study_, options_, nullptr);
        EXPECT_TRUE(outcome) << outcome.error().to_string();
        return outcome ? outcome->value() : SweepOutcome{};
    }

    TestFolder folder_;
    Study study_;
    SweepOptions options_;
};

TEST_F(Sweep, GivesWhatEachPointGivesAlone) {
    const SweepOutcome outcome = run();
    EXPECT_EQ(outcome.points, 6);
    EXPECT_EQ(outcome.known, 0);
    ASSERT_EQ(outcome.results.size(), 6u);
    const StudyPoints points{study_};
    for (std::int64_t number = 0; number < 6; ++number) {
        const PointResult& result = outcome.results[static_cast<std::size_t>(number)];
        EXPECT_TRUE(result.same_result(points.run(number))) << number;
        EXPECT_EQ(result.settings, point_of(study_, number).settings);
    }
    EXPECT_GT(outcome.results[0].iteration_s, 0);
    // 3 does not divide the four GPUs: an answer too.
    EXPECT_NE(outcome.results[4].error.find("tensor_model_parallel_size"), std::string::npos)
        << outcome.results[4].error;
}

TEST_F(Sweep, NeverRunsAFinishedPointAgain) {
    run();
    // A result that no simulation gives stays what it is.
    auto file = ResultsFile::open(options_.results, Access::read);
    PointResult marked = (*file)->find(StudyPoints{study_}.id_of(0)).value().value();
    std::filesystem::remove(options_.results);
    marked.iteration_s = 12345;
    file = ResultsFile::open(options_.results, Access::write);
    ASSERT_TRUE((*file)->add(marked));
    file->reset();
    const SweepOutcome outcome = run();
    EXPECT_EQ(outcome.known, 1);
    EXPECT_EQ(outcome.results[0].iteration_s, 12345);
}

TEST_F(Sweep, GoesOnWithWhatAKilledOneLeft) {
    const StudyPoints points{study_};
    {
        auto part = ResultsFile::open(folder_ / "r.sqlite.part-17", Access::write);
        ASSERT_TRUE((*part)->add(points.run(2)));
        // Killed while it made its file.
        folder_.write("r.sqlite.part-18", "");
    }
    const SweepOutcome outcome = run();
    EXPECT_EQ(outcome.known, 1);
    EXPECT_EQ(outcome.results.size(), 6u);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "r.sqlite.part-17"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "r.sqlite.part-18"));
}

TEST_F(Sweep, ALargerStudyKeepsThePointsOfTheSmaller) {
    run();
    change(
        "scenario: s.yaml\n"
        "grid: {plan.tensor_model_parallel_size: [2, 4], plan.micro_batch_size: [2, 4]}\n");
    const SweepOutcome outcome = run();
    EXPECT_EQ(outcome.points, 4);
    EXPECT_EQ(outcome.known, 1);
}

TEST_F(Sweep, AnotherScenarioUnderTheSameNameIsRunAnew) {
    run();
    folder_.write("s.yaml", std::string{kScenario} + "job: {seed: 3}\n");
    EXPECT_EQ(run().known, 0);
}

TEST_F(Sweep, WhatAnotherBuildRanIsRunAgainAndSaysSo) {
    const BuildIdentity today = build_identity();
    set_build_identity({.version = today.version, .sources = "0123456789abcdef"});
    const SweepOutcome old = run();
    EXPECT_EQ(old.outdated, 0);
    EXPECT_EQ(old.results[0].version, today.version + "+0123456789ab");
    EXPECT_EQ(run().known, 6);
    set_build_identity(today);
    const SweepOutcome again = run();
    EXPECT_EQ(again.known, 0);
    EXPECT_EQ(again.outdated, 6);
    EXPECT_EQ(again.results[0].version, today.short_name());
    EXPECT_EQ(again.results[0].iteration_s, old.results[0].iteration_s);
    EXPECT_EQ(run().known, 6);
    EXPECT_EQ(run().outdated, 0);
}

TEST_F(Sweep, EqualPointsAreOne) {
    change("scenario: s.yaml\npoints: [{job.seed: 1}, {job.seed: 1}, {job.seed: 2}]\n");
    EXPECT_EQ(run().points, 2);
}

TEST_F(Sweep, ShardsJoinedAreTheWhole) {
    const SweepOutcome whole = run();
    std::vector<std::filesystem::path> shards;
    for (std::int64_t number = 1; number <= 3; ++number) {
        options_.results = folder_ / ("shard" + std::to_string(number));
        options_.shard = {.number = number, .of = 3};
        EXPECT_EQ(run().points, 2);
        shards.push_back(options_.results);
    }
    EXPECT_EQ(merge_results(shards, folder_ / "all").value(), 6);
    EXPECT_EQ(merge_results(shards, folder_ / "all").value(), 0);
    EXPECT_EQ(merge_results(shards, folder_ / "r.sqlite").value(), 0);
    auto all = ResultsFile::open(folder_ / "all", Access::read);
    for (const PointResult& result : whole.results) {
        EXPECT_TRUE((*all)->find(result.id).value()->same_result(result));
    }
    EXPECT_FALSE(merge_results({folder_ / "none"}, folder_ / "new"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

TEST_F(Sweep, OnlyOneAtATimeWritesToAFile) {
    const int other = open(options_.results.c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(flock(other, LOCK_EX), 0);
    const auto outcome = sweep(study_, options_, nullptr);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().what.find("another sweep"), std::string::npos);
    close(other);
    EXPECT_EQ(run().results.size(), 6u);
}

TEST_F(Sweep, AFileOfSomethingElseStaysAsItIs) {
    folder_.write("r.sqlite", "my notes, not a database, and long enough to be looked at");
    const std::string before = folder_.text("r.sqlite");
    EXPECT_FALSE(sweep(study_, options_, nullptr));
    EXPECT_EQ(folder_.text("r.sqlite"), before);
}

}  // namespace sweep_test
}  // namespace orrery
