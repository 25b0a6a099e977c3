// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/network.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace network_exports_test {

const std::string kClos64 = ORRERY_SOURCE_DIR "/scenarios/network-clos-64.yaml";

CommandRun network(const NetworkArguments& arguments) {
    return run_command([&] { return network_command(arguments); });
}

TEST(NetworkExports, StoresFactorsThatAScenarioTakes) {
    const TestFolder folder;
    NetworkArguments arguments;
    arguments.file = kClos64;
    arguments.overrides = {"network.packet.congestion=dcqcn"};
    arguments.store_file = (folder.path() / "factors.yaml").string();
    arguments.sizes = "256KiB,1MiB";
    const CommandRun stored = network(arguments);
    EXPECT_EQ(stored.status, kExitOk) << stored.err;
    EXPECT_NE(stored.out.find("Congestion control dcqcn"), std::string::npos);
    NetworkArguments use;
    use.file = kClos64;
    use.sizes = "64MiB";
    use.json = true;
    const auto fair = nlohmann::json::parse(network(use).out);
    use.overrides = {"network.congestion=" + arguments.store_file};
    const CommandRun under = network(use);
    EXPECT_EQ(under.status, kExitOk) << under.err;
    const auto json = nlohmann::json::parse(under.out);
    EXPECT_GE(json["rows"][0]["time_s"], fair["rows"][0]["time_s"]);
    arguments.sizes = "1MiB";
    EXPECT_NE(network(arguments).err.find("a small and a larger size"), std::string::npos);
}

TEST(NetworkExports, WritesAServerForNccl) {
    const TestFolder folder;
    NetworkArguments arguments;
    arguments.file = kClos64;
    arguments.sizes = "1MiB";
    arguments.topology_file = (folder / "topo.xml").string();
    EXPECT_EQ(network(arguments).status, kExitOk);
    EXPECT_GT(std::filesystem::file_size(folder / "topo.xml"), 1'000U);
    arguments.topology_file = (folder / "no/topo.xml").string();
    EXPECT_EQ(network(arguments).status, kExitUserError);
}

}  // namespace network_exports_test
}  // namespace orrery
