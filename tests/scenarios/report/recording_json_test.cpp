// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/recording_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace {

TEST(RecordingJson, HasTheMachineInAnyWords) {
    const auto json = nlohmann::json::parse(
        recording_json({.machine = "a \"made-up\"\nmachine", .ranks = 2, .overlaps = true},
                       provenance_of("train")));
    EXPECT_EQ(json["machine"], "a \"made-up\"\nmachine");
    EXPECT_EQ(json["ranks"], 2);
    EXPECT_EQ(json["overlaps"], true);
    EXPECT_EQ(json["provenance"]["command"], "train");
}

}  // namespace
}  // namespace orrery
