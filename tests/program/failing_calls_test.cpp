// SPDX-License-Identifier: Apache-2.0
// One call after the other fails, as on a disk that is full or sick and in a machine without memory
// (failing_calls.cpp): whatever fails, the program ends with a documented status and says why, and
// a training that is started again ends with the weights of an undisturbed one. A share of the
// calls is tried; ORRERY_EVERY_CALL=1 tries all, and each from then on, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr int kNoSpace = 28;
constexpr int kIoError = 5;
constexpr int kShort = 0;  // a write that takes half
constexpr int kNoMemory = 12;

bool every_call() {
    return std::getenv("ORRERY_EVERY_CALL") != nullptr;
}

class FailingCalls : public ::testing::Test {
protected:
    FailingCalls() { write_text(data(), read_text(ORRERY_SOURCE_DIR "/scenarios/train-tiny.txt")); }
    fs::path data() const { return folder_.path() / "words.txt"; }

    // `what`: as in ORRERY_FAIL; empty: nothing fails, and nothing is counted.
    Ran run(const std::string& what, const std::string& arguments, bool files = true) const {
        std::string set = "cd '" ORRERY_SOURCE_DIR "'\n";
        if (!what.empty()) {
            set += "export LD_PRELOAD='" ORRERY_FAILING_CALLS "' ORRERY_FAIL=" + what +
                   " ORRERY_FAIL_COUNT='" + (counts_.path() / "counts").string() + "'\n";
            set += files ? "export ORRERY_FAIL_UNDER='" + folder_.path().string() + "'\n" : "";
        }
        return run_shell(set + "exec \"$ORRERY\" " + arguments, folder_.path());
    }
    // Of the last run, how often each call was made.
    std::map<std::string, int> counts() const {
        std::istringstream lines{read_text(counts_.path() / "counts")};
        std::map<std::string, int> all;
        std::string call;
        for (int count = 0; lines >> call >> count;) {
            all[call] = count;
        }
        return all;
    }
    std::string training(int steps) const {
        const std::string folder = folder_.path().string();
        return "train scenarios/train-tiny-cpu.yaml --quiet --set model.num_layers=1 "
               "--set model.hidden_size=32 --set job.eval_steps=0 --set job.checkpoint_interval=2 "
               "--set job.dataset=" +
               data().string() + " --set job.checkpoint_folder=" + folder +
               "/run --set job.log_file=" + folder +
               "/log.jsonl --set job.tensorboard_folder=" + folder +
               "/curves --set job.steps=" + std::to_string(steps) + " ";
    }
    void clean() const {
        for (const char* name : {"run", "log.jsonl", "curves"}) {
            fs::remove_all(folder_.path() / name);
        }
    }
    std::string weights(int step) const {
        return read_text(folder_.path() / "run" / ("step-00000" + std::to_string(step)) /
                         "rank-00000.safetensors");
    }
    // A training of `steps` steps that is started again ends with these weights.
    void expect_again(int steps, const std::string& expected, const std::string& what) const {
        bool saved = fs::exists(folder_.path() / "run" / "latest");
        for (int step = 2; step <= steps; step += 2) {
            saved = saved || !weights(step).empty();
        }
        const Ran again = run("", training(steps) + (saved ? "--resume" : "--overwrite"));
        EXPECT_EQ(again.status, 0) << what << ": " << again.err;
        EXPECT_TRUE(weights(steps) == expected) << what;
    }

    TestFolder folder_;
    TestFolder counts_;
};

struct Failure {
    const char* call;
    int error;
    int share;  // one call of this many is tried
};
constexpr Failure kFailures[] = {{"open", kIoError, 2},
                                 {"read", kIoError, 2},
                                 {"write", kNoSpace, 9},
                                 {"write", kShort, 9},
                                 {"fsync", kIoError, 2},
                                 {"close", kIoError, 2},
                                 {"rename", kNoSpace, 1},
                                 {"mkdir", kNoSpace, 1},
                                 {"map", kNoMemory, 1}};

std::vector<std::string> all_of(const Failure& failure, int count) {
    std::vector<std::string> all;
    for (int k = 1; k <= count; k += every_call() ? 1 : failure.share) {
        for (const char* lasts : {"", "+"}) {
            if (*lasts == '\0' || every_call()) {
                all.push_back(failure.call + (":" + std::to_string(k)) + lasts + ":" +
                              std::to_string(failure.error));
            }
        }
    }
    return all;
}

// It ends with status 0 or 2, and where it is 2 says why, and that it is no defect of its own.
void expect_told(const Ran& ran, const std::string& what) {
    EXPECT_TRUE(ran.status == 0 || ran.status == 2) << what << ": " << ran.status << ran.err;
    EXPECT_EQ(ran.status == 2, ran.err.find("error: ") != std::string::npos) << what << ran.err;
    EXPECT_EQ(ran.err.find("defect"), std::string::npos) << what << ": " << ran.err;
}

TEST_F(FailingCalls, ATrainingTellsAndCanBeStartedAgain) {
    ASSERT_EQ(run("none:0:0", training(4)).status, 0);
    const auto made = counts();
    const std::string expected = weights(4);
    ASSERT_GE(made.at("fsync"), 10);
    ASSERT_GT(expected.size(), 10'000u);
    for (const Failure& failure : kFailures) {
        for (const std::string& what : all_of(failure, made.at(failure.call))) {
            clean();
            const Ran ran = run(what, training(4));
            expect_told(ran, what);
            if (ran.status == 0) {
                EXPECT_TRUE(weights(4) == expected) << what;
            }
            expect_again(4, expected, what);
        }
    }
}

// What can't be read is passed over or told; no weights come of half a checkpoint.
TEST_F(FailingCalls, AResumedTrainingTellsAndCanBeStartedAgain) {
    ASSERT_EQ(run("", training(4)).status, 0);
    const fs::path kept = counts_.path() / "kept";
    fs::copy(folder_.path() / "run", kept, fs::copy_options::recursive);
    ASSERT_EQ(run("none:0:0", training(6) + "--resume").status, 0);
    const auto made = counts();
    const std::string expected = weights(6);
    ASSERT_GE(made.at("map"), 1);
    for (const Failure& failure : kFailures) {
        const std::string call = failure.call;
        if (call != "open" && call != "read" && call != "map") {
            continue;  // as above
        }
        for (const std::string& what : all_of(failure, made.at(call))) {
            clean();
            fs::copy(kept, folder_.path() / "run", fs::copy_options::recursive);
            const Ran ran = run(what, training(6) + "--resume");
            expect_told(ran, what);
            if (ran.status == 0) {
                EXPECT_TRUE(weights(6) == expected) << what;
            }
            expect_again(6, expected, what);
        }
    }
}

TEST_F(FailingCalls, WhatIsWrittenIsWholeOrAnError) {
    const std::string folder = folder_.path().string();
    const std::string command = "simulate scenarios/laptop-2gpu.yaml --trace " + folder +
                                "/t.json --html " + folder + "/page.html --export-chakra " +
                                folder + "/chakra";
    const std::vector<std::string> files{
        "t.json", "page.html", "chakra/step.0.et", "chakra/comm_groups.json"};
    ASSERT_EQ(run("none:0:0", command).status, 0);
    const auto made = counts();
    std::map<std::string, std::string> whole;
    for (const std::string& file : files) {
        whole[file] = read_text(folder_.path() / file);
        ASSERT_FALSE(whole[file].empty()) << file;
    }
    for (const Failure& failure : kFailures) {
        for (const std::string& what : all_of(failure, made.at(failure.call))) {
            for (const std::string& file : files) {
                fs::remove(folder_.path() / file);
            }
            fs::remove_all(folder_.path() / "chakra");
            const Ran ran = run(what, command);
            expect_told(ran, what);
            for (const std::string& file : files) {
                const std::string text = read_text(folder_.path() / file);
                // A page says how long it took.
                const bool is_page = file == "page.html" && text.ends_with("</html>\n");
                EXPECT_TRUE(is_page || text == whole[file] || (text.empty() && ran.status == 2))
                    << what << " " << file;
            }
        }
    }
}

// Before main() the error cannot be reported.
TEST_F(FailingCalls, AMachineWithoutMemoryIsTold) {
    const std::string scenarios[] = {
        "simulate scenarios/laptop-2gpu.yaml",
        training(2) + "--overwrite",
        "campaign scenarios/megascale-weeks.yaml --set campaign.seeds=2 --set campaign.days=2 "
        "--set campaign.step_time='6 s'"};
    for (const std::string& command : scenarios) {
        clean();
        ASSERT_EQ(run("none:0:0", "--version", false).status, 0);
        const int before = counts().at("malloc");
        ASSERT_EQ(run("none:0:0", command, false).status, 0);
        const int count = counts().at("malloc");
        ASSERT_GT(count, before + 1000) << command;
        const int step = std::max(1, (count - before) / (every_call() ? 400 : 12));
        for (int k = before + step / 2; k < count; k += step) {
            for (const char* lasts : {"", "+"}) {
                const std::string what = "malloc:" + std::to_string(k) + lasts + ":12";
                const Ran ran = run(what, command, false);
                EXPECT_TRUE(ran.status == 0 || ran.status == 2)
                    << command << " " << what << ": " << ran.status << " " << ran.err;
                EXPECT_EQ(ran.status == 2, ran.err.find("error: ") != std::string::npos)
                    << command << " " << what << ran.err;
            }
        }
    }
}

}  // namespace
}  // namespace orrery
