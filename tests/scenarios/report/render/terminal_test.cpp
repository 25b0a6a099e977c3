// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/terminal.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

class TerminalSettings : public ::testing::Test {
protected:
    void TearDown() override { terminal() = {}; }

    static std::string noted() {
        testing::internal::CaptureStderr();
        print_note("a note");
        print_detail("a detail");
        return testing::internal::GetCapturedStderr();
    }
};

TEST_F(TerminalSettings, NotesAreShownAndDetailsIfTheRunIsVerbose) {
    EXPECT_EQ(noted(), "orrery: a note\n");
    terminal().verbose = true;
    EXPECT_EQ(noted(), "orrery: a note\norrery: a detail\n");
    terminal().quiet = true;
    EXPECT_EQ(noted(), "");
}

TEST_F(TerminalSettings, OnlyTheWordErrorIsColoured) {
    terminal().colour = "always";
    EXPECT_EQ(coloured_error("a.yaml:1:2: error: error: x"),
              "a.yaml:1:2: \033[1;31merror:\033[0m error: x");
    EXPECT_EQ(coloured_error("and 3 more"), "and 3 more");
    terminal().colour = "never";
    EXPECT_EQ(coloured_error("error: x"), "error: x");
}

}  // namespace
}  // namespace orrery
