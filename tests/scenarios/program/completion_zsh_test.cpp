// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/completion.h"

namespace orrery {
namespace {

Command zsh_command(std::string& value) {
    return {.name = "run",
            .help = "Run it: [now]",
            .options = {{"-o,--output", &value, "It's the output", "FILE"},
                        {.names = "--old", .target = &value, .help = "", .now = "--output"}},
            .examples = {},
            .run = {}};
}

TEST(CompletionZsh, QuotesTheSignsThatHaveAMeaningInADescription) {
    std::string value;
    const std::string script = zsh_script({zsh_command(value)});
    EXPECT_TRUE(script.starts_with("#compdef orrery\n"));
    EXPECT_NE(script.find(R"('run:Run it\: \[now\]')"), std::string::npos) << script;
    EXPECT_NE(script.find(R"('*--output[It'\''s the output]:value:_files')"), std::string::npos);
    EXPECT_EQ(script.find("--old"), std::string::npos);
}

}  // namespace
}  // namespace orrery
