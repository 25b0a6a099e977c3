// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/recording.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/test_folder.h"

namespace orrery {
namespace {

RankRecording made_up(std::uint32_t seed) {
    std::mt19937 random(seed);
    RankRecording recording{.steps = {}, .arena_bytes = 1234, .resident_bytes = 56789};
    std::int64_t now = 1'000'000'000'000;
    for (std::int64_t s = 3; s < 6; ++s) {
        RecordedStep step{.step = s, .begin_ns = now, .ops = {}};
        for (std::uint32_t o = 0; o < 20; ++o) {
            const std::int64_t begin = now + random() % 100;
            now = begin + random() % 1000;
            step.ops.push_back({o / 5, o % 5, begin, now, now - begin});
        }
        step.loss_ns = now += random() % 100;
        step.end_ns = now += random() % 100;
        step.cpu_ns = random() % 1000;
        step.preemptions = random() % 3;
        recording.steps.push_back(step);
    }
    return recording;
}

TEST(Recording, ReadsBackWhatItWrites) {
    const TestFolder folder;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        ASSERT_TRUE(write_recording(folder.path(), rank, made_up(rank)));
    }
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        const auto back = read_recording(folder.path(), rank);
        ASSERT_TRUE(back) << back.error()[0].to_string();
        EXPECT_EQ(*back, made_up(rank));
    }
}

TEST(Recording, MovesEveryTimeByTheClocksOffset) {
    StepRecorder recorder;
    recorder.begin_step(1);
    recorder.add(0, 0, StepRecorder::now(), StepRecorder::now());
    recorder.end_step();
    const RankRecording still = recording_of(recorder, 7, 0);
    const RankRecording moved = recording_of(recorder, 7, 1000);
    EXPECT_EQ(moved.arena_bytes, 7);
    EXPECT_GT(moved.resident_bytes, 0);
    const RecordedStep& a = still.steps[0];
    const RecordedStep& b = moved.steps[0];
    EXPECT_EQ(b.begin_ns - a.begin_ns, 1000);
    EXPECT_EQ(b.loss_ns - a.loss_ns, 1000);
    EXPECT_EQ(b.end_ns - a.end_ns, 1000);
    EXPECT_EQ(b.ops[0].begin_ns - a.ops[0].begin_ns, 1000);
    EXPECT_EQ(b.ops[0].end_ns - a.ops[0].end_ns, 1000);
    EXPECT_EQ(b.ops[0].cpu_ns, a.ops[0].cpu_ns);
}

TEST(Recording, BadFilesAreErrorsWithTheirLine) {
    const TestFolder folder;
    EXPECT_FALSE(read_recording(folder.path(), 0));
    const std::string steps =
        "step,begin_ns,end_ns,loss_ns,cpu_ns,preemptions,arena_bytes,resident_bytes\n";
    const std::string ops = "step,slot,op,begin_ns,end_ns,cpu_ns\n";
    const auto error_of = [&](const std::string& step_rows, const std::string& op_rows) {
        std::ofstream{folder.path() / "rank-0000.steps.csv"} << steps << step_rows;
        std::ofstream{folder.path() / "rank-0000.ops.csv"} << ops << op_rows;
        const auto read = read_recording(folder.path(), 0);
        return read ? std::string{} : read.error()[0].to_string();
    };
    const std::string good = "1,10,20,19,5,0,1,1\n";
    EXPECT_EQ(error_of(good, "1,0,0,11,12,1\n"), "");
    EXPECT_NE(error_of("1,x,20,19,5,0,1,1\n", "").find("steps.csv:2: error: begin_ns 'x'"),
              std::string::npos);
    EXPECT_NE(error_of("1,30,20,19,5,0,1,1\n", "").find("out of order"), std::string::npos);
    EXPECT_NE(error_of(good + good, "").find(":3: "), std::string::npos);
    EXPECT_NE(error_of(good, "2,0,0,11,12,1\n").find("none of the recorded steps"),
              std::string::npos);
    EXPECT_NE(error_of(good, "1,0,0,11,21,1\n").find("ops.csv:2"), std::string::npos);
    EXPECT_NE(error_of(good, "1,-1,0,11,12,1\n").find("ops.csv:2"), std::string::npos);
}

}  // namespace
}  // namespace orrery
