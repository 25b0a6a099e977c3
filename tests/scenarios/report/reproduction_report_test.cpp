// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/reproduction_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace {

std::vector<RoomOutcome> two_rooms() {
    RoomOutcome room;
    room.room.name = "megascale";
    room.room.system = "MegaScale";
    room.room.title = "strong scaling";
    room.room.source = "A, 2024";
    room.room.url = "https://a";
    room.room.falls_short = "A mechanism is missing.";
    ComparisonOutcome gain{.comparison = {.name = "gain",
                                          .exhibit = "table 2",
                                          .kind = ReproductionClass::ratio,
                                          .metric = ReproducedMetric::tokens_per_s,
                                          .variant = "new",
                                          .baseline = "old"},
                           .published = 1.25,
                           .simulated = 1.25,
                           .pass = true};
    gain.causes = {{Cause::useful_compute, 4, 4}, {Cause::exposed_data, 1, 0}};
    ComparisonOutcome time{.comparison = {.name = "time",
                                          .exhibit = "table 2",
                                          .metric = ReproducedMetric::iteration_s,
                                          .variant = "new"},
                           .published = 2,
                           .simulated = 4};
    ComparisonOutcome none{.comparison = {.name = "none", .exhibit = "table 3"},
                           .published = 2,
                           .error = "does not run"};
    room.comparisons = {gain, time, none};
    RoomOutcome second = room;
    second.room.name = "other";
    second.comparisons = {gain};
    return {room, second};
}

TEST(ReproductionReport, SaysWhatWasPublishedAndSimulated) {
    const std::string text = to_text(reproduction_sections(two_rooms(), true));
    for (const char* words : {"rooms pass    1 of 2",
                              "figures pass  2 of 4",
                              "1.25 x",
                              "ratio within 15 %",
                              "+100.0 %",
                              "FAILS",
                              "none: does not run",
                              "Falls short: A mechanism is missing.",
                              "megascale: gain, from old to new",
                              "Published 1.25 x, simulated 1.25 x.",
                              "exposed data-parallel",
                              "-20.0 %"}) {
        EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
    }
    EXPECT_EQ(to_text(reproduction_sections(two_rooms(), false)).find("from old to new"),
              std::string::npos);
    EXPECT_NE(to_html(reproduction_sections(two_rooms(), true)).find("from old to new"),
              std::string::npos);
    const std::string csv = to_csv(reproduction_sections(two_rooms(), false));
    EXPECT_NE(csv.find("megascale,none,table 3"), std::string::npos) << csv;
}

TEST(ReproductionReport, JsonHasARoomForEachSystem) {
    const auto json = nlohmann::json::parse(reproduction_json(two_rooms()));
    EXPECT_EQ(json["passed"], 1);
    ASSERT_EQ(json["reproductions"].size(), 2u);
    const auto& room = json["reproductions"][0];
    EXPECT_EQ(room["name"], "megascale");
    EXPECT_EQ(room["class"], "ratio");
    EXPECT_EQ(room["rule"], "ratio within 15 %");
    EXPECT_EQ(room["published"], 1.25);
    EXPECT_EQ(room["pass"], false);
    EXPECT_EQ(room["passed_comparisons"], 1);
    EXPECT_EQ(room["comparisons"][0]["causes"][1]["cause"], "exposed_data");
    EXPECT_TRUE(room["comparisons"][2]["simulated"].is_null());
    EXPECT_EQ(room["comparisons"][2]["error"], "does not run");
}

}  // namespace
}  // namespace orrery
