// SPDX-License-Identifier: Apache-2.0
#include "engine/world/program_rates.h"

#include <gtest/gtest.h>

#include "tests/engine/small_runs.h"

namespace orrery {
namespace program_rates_test {

using namespace small_runs;

const std::vector<LinkShare> kLink0{{.link = LinkId{0}, .count = 1}};
constexpr Bandwidth kFast = Bandwidth::bits_per_second(8 * kBytePerNanosecond);

struct TwoPrograms {
    ScriptedNetwork network = two_ranks();
    NaiveRates rates{network.links()};
    CommonRates common{rates};
    ProgramRates one{common};
    ProgramRates two{common};
};

TEST(ProgramRates, EachProgramIsGivenTheEndsOfItsOwnFlows) {
    TwoPrograms programs;
    const FootprintId link = programs.one.add_footprint(kLink0);
    const FlowId of_one = programs.one.start(Time{}, link, Bytes{10}, kFast);
    const FlowId of_two = programs.two.start(Time{}, link, Bytes{20}, kFast);
    EXPECT_TRUE(programs.common.changed());
    programs.common.settle(Time{});
    EXPECT_FALSE(programs.common.changed());
    EXPECT_EQ(programs.one.rate(of_one), programs.two.rate(of_two));
    EXPECT_EQ(programs.rates.next_completion(), 20_ns);
    EXPECT_EQ(programs.one.next_completion(), Time::max());
    programs.common.end_flows(20_ns);
    EXPECT_TRUE(programs.common.changed());
    EXPECT_EQ(programs.one.next_completion(), 20_ns);
    EXPECT_EQ(programs.two.next_completion(), Time::max());
    std::vector<FlowId> ended;
    programs.one.pop_completed(20_ns, ended);
    EXPECT_EQ(ended, std::vector{of_one});
    EXPECT_FALSE(programs.one.any_ended());
    programs.common.settle(20_ns);
    EXPECT_EQ(programs.rates.next_completion(), 30_ns);
    EXPECT_EQ(programs.one.num_flows_started(), 1);
}

TEST(ProgramRates, EqualFootprintsAreAddedOnce) {
    TwoPrograms programs;
    const std::vector<LinkShare> twice{{.link = LinkId{0}, .count = 2}};
    EXPECT_EQ(programs.one.add_footprint(kLink0), programs.two.add_footprint(kLink0));
    EXPECT_NE(programs.one.add_footprint(kLink0), programs.two.add_footprint(twice));
}

}  // namespace program_rates_test
}  // namespace orrery
