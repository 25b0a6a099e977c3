// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/completion.h"

#include <gtest/gtest.h>

#include "tests/program/run_program.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(Completion, ScriptsAreGoodForTheirShells) {
    const TestFolder folder;
    for (const char* shell : {"bash", "zsh", "fish"}) {
        const auto script = completion_script(shell, all_commands());
        ASSERT_TRUE(script);
        folder.write("script", *script);
        const Ran parsed = run_shell(
            std::string{"command -v "} + shell + " >/dev/null || exit 0; " + shell + " -n script",
            folder.path());
        EXPECT_EQ(parsed.status, 0) << shell << parsed.err;
        for (const Command& command : all_commands()) {
            EXPECT_NE(script->find(command.name), std::string::npos);
        }
    }
    EXPECT_FALSE(completion_script("powershell", all_commands()));
}

}  // namespace
}  // namespace orrery
