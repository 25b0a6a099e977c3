// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/generate.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/tokenize.h"
#include "scenarios/program/train.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace generate_test {

constexpr const char* kScenario =
    "cluster: {nodes: 1, node: cpu-core}\n"
    "model: {num_layers: 1, hidden_size: 32, num_attention_heads: 2, seq_length: 16,\n"
    "        vocab_size: 272}\n"
    "plan: {micro_batch_size: 4, global_batch_size: 8, precision: fp32}\n"
    "job: {steps: 60, dataset: data, learning_rate: 0.01, checkpoint_folder: run,\n"
    "      eval_steps: 0, log_interval: 60}\n";

std::string abc() {
    std::string letters;
    for (int i = 0; i < 200; ++i) {
        letters += "abcdefgh ";
    }
    return letters;
}

CommandRun generate(const GenerateArguments& arguments) {
    return run_command([&] { return generate_command(arguments); });
}

void train(const TestFolder& folder) {
    TrainArguments arguments;
    arguments.file = folder.write("s.yaml", kScenario);
    const CommandRun run = run_command([&] { return train_command(arguments); });
    ASSERT_EQ(run.status, kExitOk) << run.err;
}

TEST(GenerateCommand, GoesOnWithWhatTheModelLearned) {
    const TestFolder folder;
    folder.write("data", abc());
    train(folder);
    GenerateArguments arguments{.checkpoint = (folder / "run").string(),
                                .prompt = "abc",
                                .tokens = 15,
                                .temperature = 0,
                                .tokenizer = {}};
    const CommandRun run = generate(arguments);
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_EQ(run.out, "abcdefgh abcdefgh \n");
    arguments.temperature = 3;
    const std::string drawn = generate(arguments).out;
    EXPECT_EQ(generate(arguments).out, drawn);
    arguments.seed = 2;
    EXPECT_NE(generate(arguments).out, drawn);
}

TEST(GenerateCommand, SpeaksTheEncodingOfItsData) {
    const TestFolder folder;
    TokenizeArguments tokenize;
    tokenize.spec = {.texts = {folder.write("a.txt", abc())},
                     .output = (folder / "data").string(),
                     .vocabulary = 260,
                     .tokenizer = {}};
    ASSERT_EQ(run_command([&] { return tokenize_command(tokenize); }).status, kExitOk);
    train(folder);
    const CommandRun run = generate({.checkpoint = (folder / "run").string(),
                                     .prompt = "abcd",
                                     .tokens = 4,
                                     .temperature = 0,
                                     .tokenizer = {}});
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_TRUE(abc().starts_with(run.out.substr(0, run.out.size() - 1))) << run.out;
    EXPECT_GT(run.out.size(), 4u + 4u);  // tokens are longer than a letter
}

TEST(GenerateCommand, SaysWhatIsMissing) {
    const TestFolder folder;
    EXPECT_EQ(generate({.checkpoint = (folder / "none").string(), .tokenizer = {}}).status,
              kExitUserError);
    folder.write("data", abc());
    train(folder);
    const CommandRun empty =
        generate({.checkpoint = (folder / "run").string(), .prompt = "", .tokenizer = {}});
    EXPECT_EQ(empty.status, kExitUserError);
    EXPECT_NE(empty.err.find("--prompt: error: is empty"), std::string::npos) << empty.err;
}

}  // namespace generate_test
}  // namespace orrery
