// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/completion.h"

namespace orrery {
namespace {

Command fish_command(std::string& value) {
    return {.name = "run",
            .help = "Run it: [now]",
            .options = {{"-o,--output", &value, "It's the output", "FILE"},
                        {.names = "--old", .target = &value, .help = "", .now = "--output"}},
            .examples = {},
            .run = {}};
}

TEST(CompletionFish, OffersShortAndLongFlagsOfACommand) {
    std::string value;
    const std::string script = fish_script({fish_command(value)});
    const std::string of = "complete -c orrery -n '__fish_seen_subcommand_from run' ";
    EXPECT_NE(script.find(of + R"(-s o -r -d 'It'\''s the output')"), std::string::npos) << script;
    EXPECT_NE(script.find(of + "-l output -r"), std::string::npos);
    EXPECT_EQ(script.find("-l old"), std::string::npos);
}

}  // namespace
}  // namespace orrery
