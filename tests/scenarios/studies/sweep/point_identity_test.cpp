// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/point_identity.h"

#include <gtest/gtest.h>

#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/format/provenance/version.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(PointIdentity, ChangesWithWhateverChangesTheResult) {
    const TestFolder folder;
    std::filesystem::create_directories(folder / "catalogue/devices");
    std::filesystem::create_directories(folder / "catalogue/published");
    const auto identity = [&](const std::vector<std::string>& overrides) {
        return point_identity(
            scenario_fingerprint(folder / "s.yaml", catalogue_fingerprint(folder / "catalogue")),
            overrides,
            folder.path());
    };
    folder.write("catalogue/devices/gpu.yaml", "peak: 1");
    folder.write("config.json", "{}");
    folder.write("s.yaml", "model: {hf_config: config.json}\n");
    const std::string first = identity({"plan.x=1"});
    EXPECT_EQ(identity({"plan.x=1"}), first);
    EXPECT_NE(identity({"plan.x=2"}), first);
    folder.write("catalogue/published/table.csv", "a result of others");
    EXPECT_EQ(identity({"plan.x=1"}), first);
    folder.write("catalogue/devices/gpu.yaml", "peak: 2");
    const std::string second = identity({"plan.x=1"});
    EXPECT_NE(second, first);
    folder.write("config.json", "{\"hidden_size\": 8}");
    EXPECT_NE(identity({"plan.x=1"}), second);
    folder.write("s.yaml", "model: {hf_config: config.json}\nname: other\n");
    EXPECT_NE(identity({"plan.x=1"}), second);
    const std::string named = identity({"model.hf_config=config.json"});
    folder.write("config.json", "{}");
    EXPECT_NE(identity({"model.hf_config=config.json"}), named);
}

TEST(PointIdentity, IsAnotherOneForOtherSources) {
    const TestFolder folder;
    folder.write("s.yaml", "name: x\n");
    const BuildIdentity before = build_identity();
    const std::string first = scenario_fingerprint(folder / "s.yaml", "catalogue");
    set_build_identity({.version = before.version, .sources = "other"});
    EXPECT_NE(scenario_fingerprint(folder / "s.yaml", "catalogue"), first);
    // A commit that changes no source changes no result.
    set_build_identity({.version = before.version, .commit = "1", .sources = before.sources});
    EXPECT_EQ(scenario_fingerprint(folder / "s.yaml", "catalogue"), first);
    set_build_identity(before);
}

}  // namespace
}  // namespace orrery
