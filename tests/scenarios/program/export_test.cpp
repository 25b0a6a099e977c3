// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/export.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "runtime/state/safetensors.h"
#include "scenarios/format/read/hf_config.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/train.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace export_test {

constexpr const char* kJob =
    "cluster: {nodes: 1, node: cpu-core}\n"
    "plan: {micro_batch_size: 2, global_batch_size: 4, precision: fp32}\n"
    "job: {steps: 4, dataset: text.txt, log_interval: 1, eval_steps: 0, checkpoint_folder: run,\n"
    "      checkpoint_interval: 2}\n";
constexpr const char* kGpt2 =
    "model: {num_layers: 1, hidden_size: 16, num_attention_heads: 2, seq_length: 16,\n"
    "        vocab_size: 256}\n";
constexpr const char* kLlama =
    "model: {num_layers: 1, hidden_size: 16, num_attention_heads: 2, num_query_groups: 1,\n"
    "        ffn_hidden_size: 24, seq_length: 16, vocab_size: 256, normalization: rmsnorm,\n"
    "        position_embedding_type: rope, activation: swiglu, add_bias_linear: false,\n"
    "        untie_embeddings_and_output_weights: true}\n";

CommandRun train(const TestFolder& folder,
                 const std::string& scenario,
                 const std::vector<std::string>& overrides = {},
                 bool resume = false) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
        text += "to be or not to be; ";
    }
    folder.write("text.txt", text);
    TrainArguments arguments;
    arguments.file = folder.write("s.yaml", scenario);
    arguments.overrides = overrides;
    arguments.resume = resume;
    arguments.overwrite = !resume;  // one folder for all runs of a test
    return run_command([&] { return train_command(arguments); });
}

CommandRun export_to(const TestFolder& folder,
                     const std::string& output,
                     const std::string& dtype = "fp32") {
    ExportArguments arguments;
    arguments.checkpoint = (folder / "run").string();
    arguments.target = (folder / output).string();
    arguments.dtype = dtype;
    return run_command([&] { return export_command(arguments); });
}

// The loss that a run reports at a step.
std::string loss_at(const CommandRun& run, int step) {
    const std::string head = fmt::format(" iteration {:8}/", step);
    const std::size_t line = run.out.find(head);
    const std::size_t loss = run.out.find("lm loss", line);
    EXPECT_NE(line, std::string::npos) << run.out << run.err;
    return line == std::string::npos ? "" : run.out.substr(loss, run.out.find('|', loss) - loss);
}

TEST(ExportCommand, WritesWeightsAndTheConfigurationTheyNeed) {
    for (const char* model : {kGpt2, kLlama}) {
        const TestFolder folder;
        ASSERT_EQ(train(folder, std::string{kJob} + model).status, kExitOk);
        const CommandRun run = export_to(folder, "model.safetensors", "bf16");
        EXPECT_EQ(run.status, kExitOk) << run.err;
        EXPECT_NE(run.out.find("of step 4\n"), std::string::npos) << run.out;
        const auto file = Safetensors::open(folder / "model.safetensors");
        ASSERT_TRUE(file);
        EXPECT_EQ(file->tensors().front().type, "BF16");

        // The configuration describes the very model that was trained.
        const std::string same = "model: {hf_config: config.json}\n";
        const CommandRun again =
            train(folder, kJob + same, {"job.initial_weights=model.safetensors"});
        EXPECT_EQ(again.status, kExitOk) << again.err;
    }
}

TEST(ExportCommand, TrainedWeightsComeBackAsTheyWere) {
    for (const char* model : {kGpt2, kLlama}) {
        const TestFolder folder;
        const std::string scenario = std::string{kJob} + model;
        ASSERT_EQ(train(folder, scenario, {"job.seed=5"}).status, kExitOk);
        ASSERT_EQ(export_to(folder, "trained").status, kExitOk);
        // With a rate of zero the weights at the end are those of the beginning: the file's, not
        // the seed's.
        std::vector<std::string> still{"job.learning_rate=0", "job.seed=6"};
        ASSERT_EQ(train(folder, scenario, still).status, kExitOk);
        ASSERT_EQ(export_to(folder, "random").status, kExitOk);
        still.emplace_back("job.initial_weights=trained");
        ASSERT_EQ(train(folder, scenario, still).status, kExitOk);
        ASSERT_EQ(export_to(folder, "again").status, kExitOk);
        EXPECT_EQ(folder.text("again"), folder.text("trained"));
        EXPECT_NE(folder.text("again"), folder.text("random"));
    }
}

TEST(ExportCommand, WhatCannotBeExportedIsAnError) {
    const TestFolder folder;
    EXPECT_EQ(export_to(folder, "m").status, kExitUserError);
    ASSERT_EQ(train(folder, std::string{kJob} + kGpt2).status, kExitOk);
    EXPECT_NE(export_to(folder, "m", "fp8").err.find("--dtype: error: 'fp8'"), std::string::npos);
    EXPECT_NE(export_to(folder, "none/m").err.find("can't be created"), std::string::npos);
    EXPECT_NE(export_to(folder, "run").err.find("is not a file"), std::string::npos);
    const auto pipe = folder / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_NE(export_to(folder, "pipe").err.find("is not a file"), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
    // A configuration of somebody else's stays; the export's own is replaced.
    folder.write("config.json", "{}");
    EXPECT_NE(export_to(folder, "m").err.find("comes from elsewhere"), std::string::npos);
    EXPECT_EQ(folder.text("config.json"), "{}");
    EXPECT_FALSE(std::filesystem::exists(folder / "m"));
    std::filesystem::remove(folder / "config.json");
    EXPECT_EQ(export_to(folder, "m").status, kExitOk);
    EXPECT_EQ(export_to(folder, "m", "bf16").status, kExitOk);
}

TEST(TrainCommand, ResumesToTheSameLosses) {
    const TestFolder folder;
    const std::string scenario = std::string{kJob} + kLlama;
    const std::vector<std::string> six{"job.steps=6", "job.checkpoint_folder=other"};
    const CommandRun straight = train(folder, scenario, six);
    ASSERT_EQ(straight.status, kExitOk) << straight.err;
    std::filesystem::rename(folder / "other", folder / "run");
    folder.write("run/latest", "step-000004\n");
    const CommandRun resumed = train(folder, scenario, {"job.steps=6"}, true);
    ASSERT_EQ(resumed.status, kExitOk) << resumed.err;
    EXPECT_NE(resumed.out.find("resumed after step 4\n"), std::string::npos);
    EXPECT_EQ(resumed.out.find(" iteration        4/"), std::string::npos);
    EXPECT_EQ(loss_at(resumed, 5), loss_at(straight, 5));
    EXPECT_EQ(loss_at(resumed, 6), loss_at(straight, 6));
}

// As a script sees it that starts a run again until it has ended well.
TEST(TrainCommand, ARunThatIsCompleteHasNothingLeftToTrain) {
    const TestFolder folder;
    const std::string scenario = std::string{kJob} + kGpt2;
    ASSERT_EQ(train(folder, scenario).status, kExitOk);
    for (const char* steps : {"job.steps=4", "job.steps=3"}) {
        const CommandRun again = train(folder, scenario, {steps}, true);
        EXPECT_EQ(again.status, kExitOk) << again.err;
        EXPECT_NE(again.out.find("4 steps are done, and job.steps asks for " +
                                 std::string{steps}.substr(10) + ": nothing is left to train\n"),
                  std::string::npos)
            << again.out;
        EXPECT_EQ(again.out.find(" iteration "), std::string::npos);
    }
}

TEST(TrainCommand, TellsWhyItCannotResumeOrImport) {
    const TestFolder folder;
    const std::string scenario = std::string{kJob} + kGpt2;
    EXPECT_NE(train(folder, scenario, {}, true).err.find("holds no checkpoint"), std::string::npos);
    ASSERT_EQ(train(folder, scenario).status, kExitOk);
    EXPECT_NE(train(folder, scenario, {"model.num_layers=2", "job.steps=9"}, true)
                  .err.find("model.num_layers is 1 there and 2 here"),
              std::string::npos);
    ASSERT_EQ(export_to(folder, "m").status, kExitOk);
    const CommandRun other =
        train(folder, scenario, {"model.hidden_size=32", "job.initial_weights=m"});
    EXPECT_EQ(other.status, kExitUserError);
    EXPECT_NE(other.err.find("tensor 'transformer.wte.weight' has the shape [256, 16] instead of "
                             "[256, 32]"),
              std::string::npos)
        << other.err;
    std::string without = scenario;
    without.replace(without.find(", checkpoint_folder"), std::string::npos, "}\n");
    EXPECT_NE(train(folder, without + kGpt2, {}, true).err.find("--resume: error: "),
              std::string::npos);
}

}  // namespace export_test
}  // namespace orrery
