// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/train.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/program/calibrate.h"
#include "scenarios/program/simulate.h"
#include "tests/scenarios/program/train_run.h"

namespace orrery {
namespace train_test {

TEST(TrainCommand, TrainsAndPrintsItsLoss) {
    const TestFolder folder;
    folder.write("text.txt", text());
    const CommandRun run = train(folder, kScenario);
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_EQ(run.err, "");
    EXPECT_EQ(run.out.substr(0, 3), "s: ");
    EXPECT_NE(run.out.find(" iteration        4/       4 | consumed samples:           16 |"),
              std::string::npos);
    EXPECT_NE(run.out.find(" validation loss at iteration 4 |"), std::string::npos);
    EXPECT_NE(run.out.find("measured beside predicted"), std::string::npos);
}

// What a run measured, the next run and a simulation predict with.
TEST(TrainCommand, PredictsWithTheProfileOfAnEarlierRun) {
    const TestFolder folder;
    folder.write("text.txt", text());
    TrainArguments arguments;
    arguments.file = folder.write("s.yaml", kScenario);
    arguments.record_folder = (folder / "run").string();
    ASSERT_EQ(run_command([&] { return train_command(arguments); }).status, kExitOk);
    CalibrateArguments calibrate;
    calibrate.runs = {arguments.record_folder};
    calibrate.output = (folder / "profile.csv").string();
    ASSERT_EQ(run_command([&] { return calibrate_command(calibrate); }).status, kExitOk);
    arguments.profile_file = calibrate.output;
    arguments.record_folder = "";
    ASSERT_EQ(run_command([&] { return train_command(arguments); }).status, kExitOk);
    SimulateArguments simulated;
    simulated.file = arguments.file;
    simulated.json = true;
    const auto sources = [&] {
        const CommandRun run = run_command([&] { return simulate_command(simulated); });
        EXPECT_EQ(run.status, kExitOk) << run.err;
        return run.out;
    };
    EXPECT_NE(sources().find("\"measured\": 0"), std::string::npos);
    simulated.profile_file = arguments.profile_file;
    EXPECT_NE(sources().find("\"measured\": 1"), std::string::npos);
    simulated.profile_file = (folder / "none.csv").string();
    expect_error(run_command([&] { return simulate_command(simulated); }), "none.csv");
    arguments.profile_file = simulated.profile_file;
    expect_error(run_command([&] { return train_command(arguments); }), "none.csv");
}

TEST(TrainCommand, ExampleOfTheRepositoryTrains) {
    TrainArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/train-tiny-cpu.yaml";
    arguments.overrides = {"job.steps=2", "job.eval_steps=1", "model.num_layers=1"};
    const CommandRun run = run_command([&] { return train_command(arguments); });
    EXPECT_EQ(run.status, kExitOk) << run.err;
}

TEST(TrainCommand, ErrorsNameTheirPlaceInTheScenario) {
    const TestFolder folder;
    expect_error(train(folder, kScenario), "s.yaml:5:26: error: ");
    expect_error(train(folder, kScenario), "text.txt: there is no such file");
    folder.write("text.txt", text());
    expect_error(train(folder, kScenario, {"job.dataset=[text.txt, no.txt]"}), "job.dataset");
    expect_error(train(folder, kScenario, {"model.vocab_size=64"}),
                 "s.yaml:5:26: error: the dataset has a vocabulary of 256 tokens, more than "
                 "model.vocab_size 64");
    expect_error(train(folder, kScenario, {"model.seq_length=4096"}), "s.yaml:5:26: error: ");
    expect_error(train(folder, kScenario, {"cluster.nodes=2", "cluster.fabric=single-switch-100"}),
                 "--set cluster.nodes: error: the cluster has 2 devices, and 1 process trains "
                 "(hint: orrery train --nproc 2");
    expect_error(train(folder, kScenario, {"plan.precision=fp16"}),
                 "--set plan.precision: error: ");
    expect_error(train(folder, kScenario, {"job.stepps=4"}),
                 "error: unknown key 'stepps' in 'job'");
    std::string without = kScenario;
    without.resize(without.find("job:"));
    expect_error(train(folder, without), "job.dataset is missing");
    expect_error(train(folder, without + "job: {seed: 1}\n"), "s.yaml:5:6: error: training needs");
}

TEST(TrainCommand, ADivergingRunEndsWithAnError) {
    const TestFolder folder;
    folder.write("text.txt", text());
    const CommandRun run = train(
        folder,
        kScenario,
        {"job.learning_rate=100", "job.steps=200", "job.clip_grad=0", "job.weight_decay=100"});
    expect_error(run, "smaller job.learning_rate");
}

TEST(TrainCommand, WritesALogCurvesAndTexts) {
    const TestFolder folder;
    folder.write("text.txt", text());
    const CommandRun run = train(folder,
                                 kScenario,
                                 {"job.log_file=run.jsonl",
                                  "job.tensorboard_folder=curves",
                                  "job.sample_interval=2",
                                  "job.sample_tokens=5",
                                  "job.sample_prompt=\"to \""});
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_NE(run.out.find(" sample at iteration 2 | \"to "), std::string::npos) << run.out;
    const std::string log = folder.text("run.jsonl");
    EXPECT_EQ(std::ranges::count(log, '\n'), 5) << log;  // 2 steps, 2 samples, 1 evaluation
    EXPECT_NE(log.find("{\"step\":4,\"validation_loss\":"), std::string::npos) << log;
    EXPECT_NE(log.find("\"prompt\":\"to \",\"sample\":"), std::string::npos) << log;
    EXPECT_FALSE(std::filesystem::is_empty(folder / "curves"));
}

TEST(TrainCommand, DoesNotOverwriteAnEarlierRunUnasked) {
    const TestFolder folder;
    folder.write("text.txt", text());
    TrainArguments arguments;
    arguments.file = folder.write("s.yaml", kScenario);
    arguments.overrides = {"job.checkpoint_folder=run", "job.log_file=run.jsonl"};
    const auto again = [&] { return run_command([&] { return train_command(arguments); }); };
    EXPECT_EQ(again().status, kExitOk);
    const std::string log = folder.text("run.jsonl");
    const CommandRun refused = again();
    expect_error(refused, "has checkpoints up to step-000004 of an earlier run");
    expect_error(refused, "has the log of an earlier run");
    EXPECT_EQ(refused.out.find(" iteration "), std::string::npos);
    EXPECT_EQ(folder.text("run.jsonl"), log);
    arguments.overwrite = true;
    const CommandRun anew = again();
    EXPECT_EQ(anew.status, kExitOk) << anew.err;
    EXPECT_NE(anew.out.find("overwrites "), std::string::npos) << anew.out;
    EXPECT_EQ(std::ranges::count(folder.text("run.jsonl"), '\n'), std::ranges::count(log, '\n'));
    arguments.resume = true;
    expect_error(again(), "--overwrite");
    // A run that is under way keeps others out, also a run that would resume it.
    arguments.overwrite = false;
    const auto claim = RunClaim::make({.checkpoint_folder = folder / "run"}, RunBegin::resume);
    ASSERT_TRUE(claim);
    expect_error(again(), "another run is writing to it now");
}

// A log is no reason to lose a run.
TEST(TrainCommand, GoesOnWithoutALogThatCannotBeWritten) {
    const TestFolder folder;
    folder.write("text.txt", text());
    const CommandRun run = train(folder, kScenario, {"job.log_file=/dev/full"});
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_NE(run.out.find("warning: /dev/full can't be written any more"), std::string::npos);
    EXPECT_NE(run.out.find(" iteration        4/       4 "), std::string::npos);
    expect_error(train(folder, kScenario, {"job.log_file=no/such/folder/log"}), "log");
}

}  // namespace train_test
}  // namespace orrery
