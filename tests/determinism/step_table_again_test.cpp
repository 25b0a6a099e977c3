// SPDX-License-Identifier: Apache-2.0
// The committed factors of steps are what the command in their head makes, byte by byte: a minute
// of one core. tests/scenarios/studies/fit/step_table_test.cpp tells in milliseconds that they
// are stale.
#include <gtest/gtest.h>

#include <regex>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

// From the first comment on, without the name of the file that a command has written.
std::string table_in(const std::string& text) {
    const std::size_t begin = text.find("# General factors");
    EXPECT_NE(begin, std::string::npos);
    return begin == std::string::npos
               ? ""
               : std::regex_replace(text.substr(begin), std::regex{" -o [^\n]*"}, "");
}

TEST(StepTable, IsMadeAgainByTheCommandInItsHead) {
    constexpr int kLimit = 900;  // seconds, on a busy machine
    const Ran ran = run_shell(
        "$ORRERY fit scenarios/catalogue/published/training.csv", ORRERY_SOURCE_DIR, kLimit);
    ASSERT_EQ(ran.status, 0) << ran.err;
    const std::string committed =
        read_file(ORRERY_SOURCE_DIR "/scenarios/catalogue/step_efficiency.csv");
    EXPECT_EQ(table_in(ran.out), table_in(committed));
}

}  // namespace
}  // namespace orrery
