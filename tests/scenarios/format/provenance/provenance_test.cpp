// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/provenance/provenance.h"

#include <gtest/gtest.h>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/format/specs/scenario.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(Provenance, OfAScenarioHasItsOverridesAndSeed) {
    const Scenario scenario = small_scenario("s", {"job.seed=7", "plan.micro_batch_size=2"});
    const Provenance provenance = provenance_of("simulate", scenario);
    EXPECT_EQ(provenance.command, "simulate");
    EXPECT_EQ(provenance.seed, 7u);
    EXPECT_EQ(provenance.catalogue, catalogue_fingerprint(default_catalogue()));
    EXPECT_TRUE(provenance.build == build_identity());
    ASSERT_EQ(provenance.scenarios.size(), 1u);
    const ScenarioOrigin& origin = *provenance.scenarios[0];
    EXPECT_EQ(origin.effective.find("plan")->find("micro_batch_size")->text, "2");
    const DocumentNode& node = *origin.effective.find("cluster")->find("node");
    ASSERT_TRUE(node.is_map());
    EXPECT_TRUE(node.find("device")->is_map());  // of the catalogue, whole
}

TEST(Provenance, AnInputIsItsNameAndContentWhereverItLies) {
    const TestFolder folder;
    std::filesystem::create_directory(folder / "other");
    folder.write("p.csv", "1");
    folder.write("other/p.csv", "1");
    Provenance provenance = provenance_of("validate");
    provenance.add_input(folder / "p.csv").add_input(folder / "other/p.csv").add_input("");
    ASSERT_EQ(provenance.inputs.size(), 2u);
    EXPECT_EQ(provenance.inputs[0].file, "p.csv");
    EXPECT_EQ(provenance.inputs[0].hash, provenance.inputs[1].hash);
    EXPECT_FALSE(provenance.seed);
}

TEST(Provenance, AScenarioWithoutAFileHasOnlyTheBuild) {
    EXPECT_TRUE(provenance_of("simulate", Scenario{}).scenarios.empty());
}

}  // namespace
}  // namespace orrery
