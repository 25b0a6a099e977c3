// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "scenarios/program/completion.h"

namespace orrery {
namespace {

TEST(CompletionWords, AreFlagsKeysAndNames) {
    std::string value;
    bool flag = false;
    const Command command{.name = "run",
                          .help = "",
                          .options = {{"file", &value, ""},
                                      {"-o,--output", &value, "out"},
                                      {"!--no-fold", &flag, "each"}},
                          .examples = {},
                          .run = {}};
    const std::vector<CompletedFlag> flags = completed_flags(command);
    ASSERT_EQ(flags.size(), 4U);
    EXPECT_EQ(flags[0].name, "-o");
    EXPECT_TRUE(flags[1].has_value);
    EXPECT_EQ(flags[2].name, "--no-fold");
    EXPECT_FALSE(flags[2].has_value);
    EXPECT_EQ(flags[3].name, "--help");
    EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
    EXPECT_NE(keys_to_set().find(" plan.micro_batch_size "), std::string::npos);
    EXPECT_EQ(keys_to_set().find('['), std::string::npos);
    EXPECT_NE(catalogue_names().find(" dgx-h100"), std::string::npos);
}

}  // namespace
}  // namespace orrery
