// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/network.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

const std::string kClos64 = ORRERY_SOURCE_DIR "/scenarios/network-clos-64.yaml";

CommandRun network(const NetworkArguments& arguments) {
    return run_command([&] { return network_command(arguments); });
}

TEST(NetworkCommand, PrintsATableOrOneJsonObject) {
    NetworkArguments arguments;
    arguments.file = kClos64;
    arguments.sizes = "1MiB..4MiB";
    const CommandRun table = network(arguments);
    EXPECT_EQ(table.status, kExitOk) << table.err;
    EXPECT_NE(table.out.find("busbw"), std::string::npos);
    arguments.json = true;
    const auto json = nlohmann::json::parse(network(arguments).out);
    ASSERT_EQ(json["rows"].size(), 3U);
    EXPECT_EQ(json["rows"][1]["size_bytes"], 2 << 20);
    EXPECT_GT(json["rows"][2]["busbw_bytes_per_s"], json["rows"][0]["busbw_bytes_per_s"]);
    for (const char* key : {"size_bytes", "time_s", "algbw_bytes_per_s", "busbw_bytes_per_s"}) {
        EXPECT_TRUE(json["rows"][0].contains(key)) << key;
    }
    EXPECT_FALSE(json["links"]["classes"].empty());
    arguments.pattern = "permutation";
    arguments.fidelity = "analytic";
    arguments.ranks = 16;
    const auto flows = nlohmann::json::parse(network(arguments).out);
    EXPECT_EQ(flows["flows"][0]["flows"], 16);
    EXPECT_EQ(flows["flows"][0]["slowdown_max"], 1);
}

TEST(NetworkCommand, WritesATraceWithTheAnswer) {
    const TestFolder folder;
    NetworkArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/network-link-flap.yaml";
    arguments.pattern = "pairs";
    arguments.sizes = "256MiB";
    arguments.trace_file = (folder / "trace").string();
    EXPECT_EQ(network(arguments).status, kExitOk);
    EXPECT_GT(std::filesystem::file_size(folder / "trace"), 1'000U);
    arguments.trace_file = (folder / "no/trace").string();
    const CommandRun refused = network(arguments);
    EXPECT_EQ(refused.status, kExitUserError);
    EXPECT_EQ(refused.out, "");
}

TEST(NetworkCommand, TellsErrorsWithTheirPlaces) {
    const TestFolder folder;
    NetworkArguments arguments;
    arguments.file = folder.write("s.yaml", "cluster: {nodes: 2, node: dgx-h100}\nmodle: y\n");
    CommandRun run = network(arguments);
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("'cluster' lacks the key 'fabric'"), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("s.yaml:2:1: error: unknown key 'modle'"), std::string::npos) << run.err;
    arguments.file = kClos64;
    arguments.fidelity = "exact";
    run = network(arguments);
    EXPECT_NE(run.err.find("--fidelity: error: no fidelity 'exact'"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace orrery
