// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/completion.h"
#include "tests/program/run_program.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

// What a shell offers for the last of these words.
std::string offered(const TestFolder& folder, const std::string& words, int at) {
    folder.write("complete.bash", bash_script(all_commands()));
    return run_shell("bash -c 'source complete.bash; COMP_WORDS=(" + words + "); COMP_CWORD=" +
                         std::to_string(at) + "; _orrery; printf \"%s\\n\" \"${COMPREPLY[@]}\"'",
                     folder.path())
        .out;
}

TEST(CompletionBash, OffersTheCommands) {
    const TestFolder folder;
    const std::string all = offered(folder, "orrery \"\"", 1);
    for (const Command& command : all_commands()) {
        EXPECT_NE(all.find(command.name + "\n"), std::string::npos) << command.name;
    }
    EXPECT_EQ(offered(folder, "orrery simu", 1), "simulate\n");
}

TEST(CompletionBash, OffersACommandsOptionsAndFiles) {
    const TestFolder folder;
    folder.write("my scenario.yaml", "");
    EXPECT_EQ(offered(folder, "orrery search --sens", 2), "--sensitivity\n");
    EXPECT_EQ(offered(folder, "orrery simulate --no-f", 2), "--no-fold\n");
    EXPECT_EQ(offered(folder, "orrery merge -o", 2), "-o\n");
    EXPECT_EQ(offered(folder, "orrery simulate my", 2), "my scenario.yaml\n");
}

TEST(CompletionBash, OffersKeysAndNamesOfTheCatalogue) {
    const TestFolder folder;
    EXPECT_EQ(offered(folder, "orrery simulate a.yaml --set plan.micro", 4),
              "plan.micro_batch_size=\n");
    EXPECT_EQ(offered(folder, "orrery explain --set campaign.repair.cr", 3),
              "campaign.repair.crews=\n");
    EXPECT_EQ(offered(folder, "orrery catalogue dgx-a100", 2), "dgx-a100-40g\ndgx-a100-80g\n");
    EXPECT_EQ(offered(folder, "orrery catalogue devi", 2), "devices\n");
    EXPECT_EQ(offered(folder, "orrery catalogue --j", 2), "--json\n");
}

}  // namespace
}  // namespace orrery
