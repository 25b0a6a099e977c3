// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/man.h"

namespace orrery {
namespace {

TEST(ManPage, HyphensAndDotsMeanThemselves) {
    std::string file;
    const Command command{.name = "x",
                          .help = "Do x",
                          .options = {{"--to-file", &file, ".hidden … files", "FILE"}},
                          .examples = {"x --to-file a"}};
    const std::string page = command_page(command);
    EXPECT_NE(page.find(".TH orrery-x 1 "), std::string::npos) << page;
    EXPECT_NE(page.find(".B \\-\\-to\\-file FILE\n\\&.hidden ... files\n"), std::string::npos)
        << page;
    EXPECT_NE(page.find("orrery x \\-\\-to\\-file a\n"), std::string::npos) << page;
    EXPECT_NE(page.find(".SH EXIT STATUS"), std::string::npos);
}

TEST(ManPage, TheProgramsPageHasEveryCommand) {
    const std::string page = program_page(all_commands());
    for (const Command& command : all_commands()) {
        EXPECT_NE(page.find(command.help.substr(0, 12)), std::string::npos) << command.name;
    }
}

}  // namespace
}  // namespace orrery
