// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/empty_space.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

EmptySpace space_of(const LeftOut& left_out) {
    return {.points = 10, .simulated = 3, .left_out = left_out};
}

TEST(EmptySpace, IsBlamedOnTheRuleThatRefusesMost) {
    const Error error = why_space_is_empty(
        space_of({.rules = {{"batch does not divide", 3}, {"pipeline", 7}}}), {});
    EXPECT_EQ(error.what, "no plan of 10 is feasible; most are refused by: pipeline");
    EXPECT_EQ(error.hint,
              "points by the rule that refuses them: batch does not divide 3, pipeline 7");
    EXPECT_EQ(why_space_is_empty({}, {}).what, "the space has no point");
}

TEST(EmptySpace, SimulationsThatRanOutSayNothingAboutFeasibility) {
    const Error error = why_space_is_empty(
        space_of({.rules = {{"pipeline", 4}}, .memory = 3, .ran_out = 3, .least_memory = 1.2}),
        {.simulations = 5});
    EXPECT_EQ(error.where, "search.simulations");
    EXPECT_EQ(error.what,
              "5 ran out before a plan was found: 3 simulated, 3 left unsimulated; of the others 3 "
              "do not fit into memory, the smallest needs 120 % of a GPU's or more");
    EXPECT_EQ(error.hint, "search.simulations=100 or more, or a smaller space");
}

TEST(EmptySpace, ALimitThatNoPlanKeepsIsToBlame) {
    LeftOut out{.rules = {{"pipeline", 900}}, .memory = 50, .deadline = 5};
    out.least_memory = 1.5;
    out.least_days = 16.66;
    const Error late = why_space_is_empty(space_of(out), {.deadline_days = 0.0001});
    EXPECT_EQ(late.where, "search.deadline_days");
    EXPECT_EQ(late.what,
              "no plan of 10 is feasible: 5 take longer than deadline_days 0.0001, the fastest "
              "16.7 days or more; 50 do not fit into memory, the smallest needs 150 % of a GPU's "
              "or more");
    EXPECT_EQ(late.hint, "16.7 days or more, or more GPUs");
    const Error dear =
        why_space_is_empty(space_of({.budget = 2, .least_money = 1234}), {.budget = 10});
    EXPECT_EQ(dear.where, "search.budget");
    EXPECT_EQ(dear.hint, "1.23e+03 or more");
}

}  // namespace
}  // namespace orrery
