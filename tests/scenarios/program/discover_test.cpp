// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/discover.h"

#include "scenarios/format/document/json_document.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(DiscoverCommand, WritesAClusterAndTellsWhatItMeasured) {
    const TestFolder folder;
    DiscoverArguments arguments;
    arguments.device = "cpu";
    arguments.output = (folder / "c.yaml").string();
    arguments.json = true;
    const CommandRun run = run_command([&] { return discover_command(arguments); });
    ASSERT_EQ(run.status, kExitOk) << run.err;
    const auto json = parse_json(run.out, "out");
    ASSERT_TRUE(json) << json.error()[0].to_string();
    EXPECT_NE(json->find("gemm_flops_per_s"), nullptr);
    const auto yaml = read_yaml_file(arguments.output);
    ASSERT_TRUE(yaml) << yaml.error()[0].to_string();
    EXPECT_NE(yaml->find("cluster"), nullptr);
}

TEST(DiscoverCommand, TellsWhatIsWrong) {
    const TestFolder folder;
    const auto expect_error = [](const DiscoverArguments& arguments, const std::string& message) {
        const CommandRun run = run_command([&] { return discover_command(arguments); });
        EXPECT_EQ(run.status, kExitUserError);
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err;
    };
    DiscoverArguments arguments;
    arguments.device = "tpu";
    expect_error(arguments, "no kind of device");
    arguments.device = "cpu";
    arguments.topology_file = (folder / "none.xml").string();
    expect_error(arguments, "none.xml");
    arguments.topology_file = "";
    arguments.output = (folder / "none/c.yaml").string();
    expect_error(arguments, "none/c.yaml");
}

}  // namespace
}  // namespace orrery
