// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/settings.h"

#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

TEST(Settings, KeepKeysValuesAndPlaces) {
    Settings settings;
    SettingPlaces places;
    Errors errors;
    read_settings(section_of("plan.micro_batch_size: 2\nfabric: 400 Gbps\n"),
                  "set",
                  settings,
                  places,
                  errors);
    EXPECT_TRUE(errors.empty());
    EXPECT_EQ(overrides_of(settings),
              (std::vector<std::string>{"plan.micro_batch_size=2", "fabric=400 Gbps"}));
    EXPECT_EQ(places.at("plan.micro_batch_size=2"), "s.yaml:1:24");
    const Error error = placed_in_file(
        {"--set plan.micro_batch_size", "is bad", ""}, overrides_of(settings), places);
    EXPECT_EQ(error.where, "s.yaml:1:24");
    const auto placed = [&](const char* where) {
        return placed_in_file({where, "is bad", ""}, overrides_of(settings), places).where;
    };
    EXPECT_EQ(placed("--set plan"), "s.yaml:1:24");  // the section that settings made
    EXPECT_EQ(placed("--set pla"), "--set pla");
    EXPECT_EQ(placed("a.yaml:3"), "a.yaml:3");
}

TEST(Settings, AreAMap) {
    Settings settings;
    SettingPlaces places;
    Errors errors;
    read_settings(section_of("[1]"), "set", settings, places, errors);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_NE(errors[0].what.find("'set' must be a map of keys, not a list"), std::string::npos);
}

}  // namespace
}  // namespace orrery
