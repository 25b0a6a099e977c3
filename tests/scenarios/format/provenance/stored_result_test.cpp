// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/provenance/stored_result.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/json_document.h"
#include "scenarios/report/provenance_report.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

std::string error_of(const std::string& json) {
    const auto document = parse_json(json, "r.json");
    const auto stored =
        document ? stored_provenance(*document) : unexpected<Errors>(document.error());
    return stored ? "" : stored.error()[0].to_string();
}

TEST(StoredResult, HasWhatTheResultWasMadeOf) {
    const TestFolder folder;
    folder.write("p.csv", "x");
    const Scenario scenario = small_scenario("s", {"plan.micro_batch_size=2"});
    Provenance provenance = provenance_of("simulate", scenario);
    provenance.add_option("no_fold", "true").add_input(folder / "p.csv");
    folder.write("r.json", with_provenance(R"({"mfu": 0.5})", provenance));
    const auto stored = read_stored_result(folder / "r.json");
    ASSERT_TRUE(stored) << stored.error()[0].to_string();
    EXPECT_EQ(stored->command, "simulate");
    EXPECT_EQ(stored->build.version, build_identity().version);
    EXPECT_EQ(stored->options[0].first, "no_fold");
    EXPECT_EQ(stored->inputs[0].hash, provenance.inputs[0].hash);
    EXPECT_EQ(stored->origin.overrides, scenario.origin->overrides);
    EXPECT_TRUE(differences_from(*stored).empty());
    const auto again = scenario_of_result(*stored, "r.json", {"plan.micro_batch_size=1"});
    ASSERT_TRUE(again) << again.error()[0].to_string();
    EXPECT_EQ(scenario.plan.micro_batch_size, 2);
    EXPECT_EQ(again->plan.micro_batch_size, 1);
    EXPECT_EQ(again->origin->overrides.size(), scenario.origin->overrides.size() + 1);
}

TEST(StoredResult, SaysHowThisProgramDiffers) {
    StoredProvenance stored;
    stored.build = build_identity();
    stored.catalogue = provenance_of("simulate").catalogue;
    EXPECT_TRUE(differences_from(stored).empty());
    stored.build.commit = "another commit of the same sources";
    EXPECT_TRUE(differences_from(stored).empty());
    stored.build.sources = "0123456789abcdef";
    stored.catalogue = "another";
    const std::vector<std::string> sentences = differences_from(stored);
    ASSERT_EQ(sentences.size(), 2u);
    EXPECT_NE(sentences[0].find("sources 0123456789ab"), std::string::npos) << sentences[0];
    EXPECT_NE(sentences[1].find("catalogue"), std::string::npos);
}

// Keys that this program does not know are explained by the version that wrote them.
TEST(StoredResult, OfALaterVersionSaysSoWhereItCannotBeRead) {
    StoredProvenance stored;
    stored.build.version = "999.0.0";
    stored.origin = *small_scenario("s", {}).origin;
    EXPECT_TRUE(scenario_of_result(stored, "r.json"));
    put(stored.origin.effective, "plan.key_of_the_future", scalar_node("1"));
    const auto scenario = scenario_of_result(stored, "r.json");
    ASSERT_FALSE(scenario);
    EXPECT_NE(scenario.error()[0].what.find("Orrery 999.0.0, which is later"), std::string::npos)
        << scenario.error()[0].to_string();
    EXPECT_NE(scenario.error()[1].what.find("key_of_the_future"), std::string::npos);
    stored.build.version = build_identity().version;
    EXPECT_EQ(scenario_of_result(stored, "r.json").error().size(), 1U);
}

TEST(StoredResult, WhatIsNoneIsAnErrorWithItsPlace) {
    EXPECT_NE(error_of(R"({"mfu": 0.5})").find("r.json:1:1: error: has no provenance"),
              std::string::npos);
    EXPECT_NE(error_of("[]").find("has no provenance"), std::string::npos);
    EXPECT_NE(error_of(R"({"provenance": {}})").find("command"), std::string::npos);
    EXPECT_NE(error_of(R"({"provenance": {"command": "simulate", "catalogue": "c",
                           "build": {"version": "0"}}})")
                  .find("scenario"),
              std::string::npos);
    EXPECT_NE(error_of(R"({"provenance": {"command": "simulate", "catalogue": "c", "build": 3,
                           "scenario": {"effective": {}}}})")
                  .find("provenance.build must be a map"),
              std::string::npos);
    EXPECT_FALSE(read_stored_result("/no/such/file"));
}

}  // namespace
}  // namespace orrery
