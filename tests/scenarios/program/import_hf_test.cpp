// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/import.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace import_hf_test {

CommandRun run(const ImportArguments& arguments) {
    return run_command([&] { return import_command(arguments); });
}

TEST(ImportHf, WritesAScenarioOfAHuggingFaceModel) {
    const TestFolder folder;
    ImportArguments arguments{.format = "hf"};
    arguments.words = {
        folder.write("config.json",
                     R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 256,
            "intermediate_size": 512, "num_attention_heads": 4, "max_position_embeddings": 256,
            "vocab_size": 1024})")};
    arguments.output = (folder / "s.yaml").string();
    const CommandRun ran = run(arguments);
    EXPECT_EQ(ran.status, kExitOk) << ran.err;
    const auto scenario = read_scenario(folder / "s.yaml");
    ASSERT_TRUE(scenario) << scenario.error().front().to_string();
    EXPECT_EQ(scenario->model.num_layers, 4);
    EXPECT_EQ(scenario->software, "");
    EXPECT_NE(ran.err.find("not in the file: software: which one trains the model"),
              std::string::npos)
        << ran.err;
    EXPECT_NE(ran.err.find("; an answer is uncertain by "), std::string::npos) << ran.err;
    arguments.software = "nemo-25.02";
    EXPECT_EQ(run(arguments).err.find("software"), std::string::npos);
    const auto told = read_scenario(folder / "s.yaml");
    ASSERT_TRUE(told);
    EXPECT_EQ(told->software, "nemo-25.02");
    arguments.words = {folder.write("bad.json", "{\"model_type\": \"t5\"}")};
    EXPECT_NE(run(arguments).err.find("error: model_type"), std::string::npos);
}

// The longest sequence that a model takes is not what its training uses.
TEST(ImportHf, TheSequenceLengthOfAHuggingFaceModelIsWrittenOut) {
    const TestFolder folder;
    std::filesystem::create_directories(folder / "a: b");
    const std::string config = folder.write("a: b/config.json",
                                            R"({"model_type": "llama", "num_hidden_layers": 4,
        "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4,
        "max_position_embeddings": 131072, "vocab_size": 1024, "attention_bias": true,
        "rope_theta": 5e5, "novelty": 1})");
    ImportArguments arguments{.format = "hf", .words = {config}};
    arguments.output = (folder / "s.yaml").string();
    const CommandRun ran = run(arguments);
    ASSERT_EQ(ran.status, kExitOk) << ran.err;
    EXPECT_EQ(ran.err.find("seq_length 131072 is the longest that the model takes"), 0u) << ran.err;
    EXPECT_NE(ran.err.find("CHANGES THE ANSWER: attention_bias"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("not known, and left out: novelty 1"), std::string::npos) << ran.err;
    const auto yaml = read_text_file(folder / "s.yaml");
    ASSERT_TRUE(yaml);
    for (const char* line : {"  seq_length: 131072  # the longest that the model takes",
                             "  hf_config: \"a: b/config.json\"",
                             "rope_theta (a constant inside a kernel)"}) {
        EXPECT_NE(yaml->find(line), std::string::npos) << line << '\n' << *yaml;
    }
    arguments.seq_length = 4096;
    const CommandRun shorter = run(arguments);
    EXPECT_EQ(shorter.err.find("seq_length"), std::string::npos) << shorter.err;
    const auto scenario = read_scenario(folder / "s.yaml");
    ASSERT_TRUE(scenario) << scenario.error().front().to_string();
    EXPECT_EQ(scenario->model.seq_length, 4096);
    arguments.node = "dgx h1000";
    EXPECT_EQ(run(arguments).err.find("--node: error: "), 0u);
}

}  // namespace import_hf_test
}  // namespace orrery
