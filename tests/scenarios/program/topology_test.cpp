// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/command_line.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/render/terminal.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

CommandRun run_words(std::vector<std::string> words) {
    words.insert(words.begin(), {"orrery", "topology"});
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    const CommandRun run =
        run_command([&] { return run_command_line(static_cast<int>(argv.size()), argv.data()); });
    terminal() = {};
    return run;
}

TEST(TopologyCommand, AClusterAloneIsEnoughAndOneEndOfAWayToo) {
    const TestFolder folder;
    const std::string file =
        folder.write("s.yaml", "cluster: {nodes: 2, node: dgx-a100-80g, fabric: eth400-clos}\n");
    const CommandRun ran = run_words({file, "--to-rank", "15"});
    EXPECT_EQ(ran.status, kExitOk) << ran.err;
    EXPECT_NE(ran.out.find("From rank 0 to rank 15"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("Groups of the plan"), std::string::npos) << ran.out;
    EXPECT_EQ(run_words({file}).out.find("From rank"), std::string::npos);
    const CommandRun beyond = run_words({file, "--from-rank", "16"});
    EXPECT_EQ(beyond.status, kExitUserError);
    EXPECT_NE(beyond.err.find("there is no rank 16"), std::string::npos) << beyond.err;
    EXPECT_EQ(run_words({file, "--set", "cluster.nodes=0"}).status, kExitUserError);
}

}  // namespace
}  // namespace orrery
