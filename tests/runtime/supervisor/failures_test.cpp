// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/failures.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

Observation told(const Failures& failures) {
    Observation o;
    o.step = 17;
    tell_what(failures, o);
    return o;
}

TEST(Failures, WhoIsGoneIsTheCauseOfAllElse) {
    const Observation o =
        told({.lost = {2}, .unreachable = {1}, .errors = {"a"}, .wrong_numbers = true});
    EXPECT_EQ(o.kind, ObservationKind::fault_detected);
    EXPECT_EQ(o.fault, FaultKind::node_crash);
    EXPECT_EQ(o.nodes, (std::vector<NodeNumber>{2}));
}

TEST(Failures, WrongNumbersAreNobodysAndTheStepsBeforeThemAreRight) {
    const Observation o = told({.unreachable = {1}, .errors = {"nan"}, .wrong_numbers = true});
    EXPECT_EQ(o.kind, ObservationKind::corruption_found);
    EXPECT_TRUE(o.nodes.empty());
    EXPECT_EQ(o.verified_step, 17);
}

TEST(Failures, AnErrorIsABugAndOnlyThenSomebodyIsUnreachable) {
    const Observation bug = told({.unreachable = {1}, .errors = {"a"}});
    EXPECT_EQ(bug.fault, FaultKind::software_bug);
    EXPECT_TRUE(bug.nodes.empty());
    const Observation cut = told({.unreachable = {1}});
    EXPECT_EQ(cut.fault, FaultKind::nic_down);
    EXPECT_EQ(cut.nodes, (std::vector<NodeNumber>{1}));
}

}  // namespace
}  // namespace orrery
