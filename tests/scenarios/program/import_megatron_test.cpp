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
namespace import_megatron_test {

CommandRun run(const ImportArguments& arguments) {
    return run_command([&] { return import_command(arguments); });
}

TEST(ImportMegatron, WritesAScenarioOfACommandLine) {
    const TestFolder folder;
    ImportArguments arguments{.format = "megatron"};
    arguments.words = {"pretrain_gpt.py",
                       "--num-layers",
                       "4",
                       "--hidden-size",
                       "256",
                       "--num-attention-heads",
                       "4",
                       "--seq-length",
                       "128",
                       "--micro-batch-size",
                       "1",
                       "--global-batch-size",
                       "16",
                       "--bf16",
                       "--odd",
                       "1"};
    arguments.output = (folder / "s.yaml").string();
    const CommandRun ran = run(arguments);
    EXPECT_EQ(ran.status, kExitOk) << ran.err;
    EXPECT_EQ(ran.err,
              "not known, and left out: --odd 1\n"
              "not in the command line: model.vocab_size: 50304\n"
              "not in the command line: cluster.nodes: 1\n");
    EXPECT_TRUE(read_scenario(folder / "s.yaml"));
    arguments.words = {folder.write("run.sh", "train --num-layers 4 \\\n --hidden-size x\n")};
    const CommandRun bad = run(arguments);
    EXPECT_EQ(bad.status, kExitUserError);
    EXPECT_NE(bad.err.find("run.sh:2:16: error: --hidden-size"), std::string::npos) << bad.err;
}

TEST(ImportMegatron, NamesAFileThatHoldsNoCommandLine) {
    const TestFolder folder;
    const auto error_of = [](const std::string& word) {
        ImportArguments arguments{.format = "megatron"};
        arguments.words = {word};
        const CommandRun ran = run(arguments);
        EXPECT_EQ(ran.status, kExitUserError);
        return ran.err;
    };
    const std::string scenario = folder.write("scenario.yaml", "kind: scenario\n");
    EXPECT_EQ(error_of(scenario).find(scenario + ": error: holds no flags"), 0U);
    EXPECT_NE(error_of(folder.path().string()).find("is a folder"), std::string::npos);
    EXPECT_EQ(error_of("pretrain_gpt.py").find("command line: error: there are no flags"), 0U);
}

}  // namespace import_megatron_test
}  // namespace orrery
