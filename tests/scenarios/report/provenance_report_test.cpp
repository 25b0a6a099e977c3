// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/provenance_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(ProvenanceReport, IsAddedAtTheEndOfTheObject) {
    Provenance provenance = provenance_of("simulate", small_scenario("s", {"job.seed=3"}));
    provenance.build = {.version = "1.2.3",
                        .commit = "abc",
                        .changed = true,
                        .sources = "0123456789abcdef",
                        .compiler = "GNU 12",
                        .features = {"mpi"}};
    provenance.add_option("no_fold", "true");
    const std::string text = with_provenance("{\"mfu\": 0.1, \"steps\": 3}\n", provenance);
    EXPECT_TRUE(text.starts_with("{\n  \"mfu\": 0.1,\n  \"steps\": 3,\n  \"provenance\": {"));
    const auto block = nlohmann::json::parse(text)["provenance"];
    EXPECT_EQ(block["build"]["commit"], "abc");
    EXPECT_EQ(block["build"]["changed"], true);
    EXPECT_EQ(block["build"]["features"][0], "mpi");
    EXPECT_EQ(block["seed"], 3);
    EXPECT_EQ(block["options"]["no_fold"], "true");
    EXPECT_EQ(block["scenario"]["effective"]["job"]["seed"], 3);
    EXPECT_EQ(block["scenario"]["effective"]["cluster"]["nodes"], 2);
    EXPECT_FALSE(block.contains("inputs"));
}

TEST(ProvenanceReport, OfSeveralScenariosIsAList) {
    const Scenario a = small_scenario("a", {});
    const Scenario b = small_scenario("b", {"job.seed=1"});
    Provenance provenance = provenance_of("sweep", a);
    provenance.scenarios.push_back(b.origin);
    const auto block = nlohmann::json::parse(provenance_json(provenance));
    EXPECT_FALSE(block.contains("scenario"));
    ASSERT_EQ(block["scenarios"].size(), 2u);
    EXPECT_EQ(block["scenarios"][1]["overrides"].back(), "job.seed=1");
}

TEST(ProvenanceReport, UnfoldsOnAPageWithoutAnyMarkup) {
    Provenance provenance = provenance_of("simulate", small_scenario("s", {}));
    provenance.add_option("pattern", "</pre><script>");
    const std::string page =
        page_with_provenance("<main></main>\n<!-- provenance -->\n<div>", provenance);
    EXPECT_TRUE(page.starts_with("<main></main>\n<details class=\"provenance\"><summary>Made by"));
    EXPECT_TRUE(page.ends_with("</details>\n<div>"));
    EXPECT_EQ(page.find("<script>"), std::string::npos);
    EXPECT_NE(page.find("&lt;/pre>&lt;script>"), std::string::npos);
}

}  // namespace
}  // namespace orrery
