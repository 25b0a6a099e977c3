// SPDX-License-Identifier: Apache-2.0
// Runs every ```sh block of README.md, in a folder that looks like the checkout (links to its
// files) so that what the commands write stays out of it. There `./orrery` is the built program,
// and `./orrery test`, which would run this test again, lists the tests instead.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

struct Block {
    std::size_t line = 0;
    std::string commands;
};

std::vector<Block> shell_blocks(const std::string& markdown) {
    std::vector<Block> blocks;
    std::istringstream lines{markdown};
    std::string line;
    bool inside = false;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        if (line.starts_with("```")) {
            inside = !inside && line == "```sh";
            if (inside) {
                blocks.push_back({.line = number, .commands = {}});
            }
        } else if (inside) {
            blocks.back().commands += (line.starts_with("$ ") ? line.substr(2) : line) + "\n";
        }
    }
    return blocks;
}

// `parent`/checkout with links to all that the checkout holds, beside a link to its shared/.
fs::path linked_checkout(const fs::path& parent) {
    const fs::path root{ORRERY_SOURCE_DIR};
    const fs::path checkout = parent / "checkout";
    fs::create_directory(checkout);
    for (const fs::directory_entry& entry : fs::directory_iterator{root}) {
        const std::string name = entry.path().filename().string();
        if (name != "orrery" && name != "build" && name != ".git") {
            fs::create_symlink(entry.path(), checkout / name);
        }
    }
    if (fs::exists(root / "../shared")) {
        fs::create_symlink(fs::canonical(root / "../shared"), parent / "shared");
    }
    write_file(checkout / "orrery",
               "#!/bin/sh\n"
               "if [ \"$1\" = test ]; then exec ctest --test-dir '" ORRERY_BUILD_DIR
               "' -N --no-tests=error; fi\n"
               "exec '" ORRERY_PROGRAM "' \"$@\"\n");
    fs::permissions(checkout / "orrery", fs::perms::owner_all);
    return checkout;
}

TEST(ShellBlocks, AreFoundInMarkdown) {
    const auto blocks = shell_blocks("a\n```sh\n$ ls\npwd\n```\n```\nno\n```\n```sh\ntrue\n```\n");
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(blocks[0].line, 2u);
    EXPECT_EQ(blocks[0].commands, "ls\npwd\n");
    EXPECT_EQ(blocks[1].commands, "true\n");
}

TEST(Readme, EveryCommandInItWorks) {
    const auto blocks = shell_blocks(read_file(fs::path{ORRERY_SOURCE_DIR} / "README.md"));
    const TemporaryFolder folder;
    const fs::path checkout = linked_checkout(folder.path());
    std::string all;
    for (const Block& block : blocks) {
        const Ran ran = run_shell(block.commands, checkout, 600);
        EXPECT_EQ(ran.status, 0) << "README.md:" << block.line << ":\n"
                                 << block.commands << ran.out << ran.err;
        all += block.commands;
    }
    EXPECT_NE(all.find("./orrery simulate "), std::string::npos) << "shows no simulation";
    EXPECT_NE(all.find("./orrery test"), std::string::npos) << "shows no test";
}

}  // namespace
}  // namespace orrery
