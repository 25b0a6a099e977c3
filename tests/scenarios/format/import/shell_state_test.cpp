// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_state.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ShellState, PlacesAreLinesAndColumns) {
    ShellState state;
    state.source = "run.sh";
    state.lines = {0, 10, 20};
    EXPECT_EQ(state.where(0), "run.sh:1:1");
    EXPECT_EQ(state.where(9), "run.sh:1:10");
    EXPECT_EQ(state.where(10), "run.sh:2:1");
    EXPECT_EQ(state.where(25), "run.sh:3:6");
}

TEST(ShellState, AssignsAndNotesWhereSomethingRunsOnly) {
    ShellState state;
    state.lines = {0};
    PlacedText one;
    one.add("1", 0);
    state.assign("A", {one}, false);
    state.assign("A", {one, one}, true);
    EXPECT_EQ(state.variables["A"].size(), 3u);
    state.note(0, "x");
    state.note(0, "x");
    state.active = false;
    state.assign("B", {one}, false);
    state.note(0, "y");
    EXPECT_EQ(state.order, std::vector<std::string>{"A"});
    EXPECT_EQ(state.notes.size(), 1u);
}

TEST(ShellState, TheFirstFaultStays) {
    ShellState state;
    state.lines = {0};
    state.spend(kShellCharactersMost, 0);
    EXPECT_TRUE(state.errors.empty());
    state.spend(1, 3);
    state.fail(7, "another");
    ASSERT_EQ(state.errors.size(), 1u);
    EXPECT_EQ(state.errors[0].where, ":1:4");
}

}  // namespace
}  // namespace orrery
