// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command_words.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using Words = std::vector<std::string>;

TEST(CommandWords, SayWhatTheVariablesHold) {
    std::string file = "s.yaml";
    Words changes{"a=1", "b=2"};
    std::string unset;
    bool quiet = true;
    bool fold = false;
    bool off = false;
    std::uint32_t ranks = 3;
    const std::vector<CommandOption> options{
        {"file", &file, ""},
        {"--set", &changes, ""},
        {"--html", &unset, ""},
        {"-q,--quiet", &quiet, ""},
        {"!--no-fold", &fold, ""},
        {"--json", &off, ""},
        {"-n,--nproc", &ranks, ""},
        {.names = "--old", .target = &ranks, .help = "", .now = "--nproc"}};
    EXPECT_EQ(command_words("run", options, {}),
              (Words{"run",
                     "s.yaml",
                     "--set",
                     "a=1",
                     "--set",
                     "b=2",
                     "--quiet",
                     "--no-fold",
                     "--nproc",
                     "3"}));
    EXPECT_EQ(command_words("run", options, {"--nproc", "--set"}),
              (Words{"run", "s.yaml", "--quiet", "--no-fold"}));
}

}  // namespace
}  // namespace orrery
