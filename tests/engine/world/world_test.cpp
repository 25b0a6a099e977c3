// SPDX-License-Identifier: Apache-2.0
// Clients of a world: a loop that chooses each next program when the last one has ended, programs
// that overlap, programs that end at one instant. Random ones: tests/reference/worlds_agree_test.
#include "engine/world/world.h"

#include <gtest/gtest.h>

#include "engine/program/merged_program.h"
#include "tests/engine/small_runs.h"

namespace orrery {
namespace world_test {

using namespace small_runs;

// Parties of two ranks each, on GPUs 0 and 1 of a network: party p computes for `work[p]` and then
// sends `bytes[p]` from its first rank to its second, over the one link of all.
class Parties {
public:
    Parties(const std::vector<Time>& work, const std::vector<std::int64_t>& bytes)
        : network_({kBytePerNanosecond}) {
        std::vector<ProgramToMerge> programs;
        builders_.reserve(work.size());
        for (std::size_t p = 0; p < work.size(); ++p) {
            ProgramBuilder& b = builders_.emplace_back(std::vector<MeshDigit>{{"pp", 2}});
            b.role(0).kernel(work[p]);
            b.exchange({send(bytes[p])}, kCompute);
            b.role(1).exchange({receive(bytes[p])}, kCompute);
            programs.push_back({"party", &b.program});
            const auto first = static_cast<std::uint32_t>(2 * p);
            network_.sends[{RankId{first}, RankId{first + 1}}] = plan_over({0}, {});
            input.device_class.insert(input.device_class.end(), 2, static_cast<std::uint16_t>(p));
        }
        program_ = merge_programs(programs);
        for (std::size_t p = 0; p < work.size(); ++p) {
            DeviceTimings device;
            device.kernels.resize(program_.kernels.size());
            device.kernels[p].duration = work[p];
            input.devices.push_back(device);
        }
        input.program = &program_;
        input.network = &network_;
        rates.emplace(network_.links());
        world = std::move(*World::make(input, *rates));
    }

private:
    std::vector<ProgramBuilder> builders_;
    ScriptedNetwork network_;
    Program program_;

public:
    SimulationInput input;
    std::optional<NaiveRates> rates;
    std::unique_ptr<World> world;
};

// A serving loop: iterations of batches that are known only when the last one has ended.
TEST(World, AClientChoosesEachNextProgram) {
    Parties parties({5_ns, 7_ns, 11_ns}, {10, 20, 30});
    World& world = *parties.world;
    const std::vector<Time> alone{15_ns, 27_ns, 41_ns};
    std::uint64_t state = 3;
    Time expected;
    std::uint32_t next = 0;
    world.start(next, Time{});
    for (int i = 0; i < 200; ++i) {
        expected += alone[next];
        const std::optional<RunEnd> end = world.run_to_next_end();
        ASSERT_TRUE(end.has_value());
        EXPECT_EQ(end->party, next);
        EXPECT_EQ(end->end(), expected);
        EXPECT_EQ(world.now(), expected);
        EXPECT_EQ(end->steps[0].path.total(), expected);
        state = state * 6364136223846793005u + 1442695040888963407u;
        next = static_cast<std::uint32_t>(state >> 33) % 3;
        const Time pause = Time::picoseconds(static_cast<std::int64_t>(state >> 60) * 100);
        world.start(next, expected + pause);
        expected += pause;
    }
}

TEST(World, ProgramsThatOverlapShareLinks) {
    Parties parties({5_ns, 7_ns}, {10, 20});
    World& world = *parties.world;
    world.start(0, Time{});
    world.start(1, 2_ns);
    // From 9 ns on the two messages share the link: 6 bytes of the first are left.
    const std::optional<RunEnd> first = world.run_to_next_end();
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->party, 0u);
    EXPECT_EQ(first->end(), 21_ns);
    world.start(0, first->end());
    // 14 bytes of the second are left, and the first is back with its message at 26 ns.
    const std::optional<RunEnd> second = world.run_to_next_end();
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->party, 1u);
    EXPECT_EQ(second->end(), 44_ns);
    EXPECT_EQ(world.run_to_next_end()->end(), 45_ns);
    EXPECT_FALSE(world.run_to_next_end().has_value());
    EXPECT_FALSE(world.stuck());
}

TEST(World, RunsThatEndAtOneInstantAreToldOneByOne) {
    Parties parties({5_ns, 5_ns}, {10, 10});
    World& world = *parties.world;
    world.start(1, Time{});
    world.start(0, Time{});
    std::vector<std::uint32_t> told;
    for (int i = 0; i < 2; ++i) {
        const std::optional<RunEnd> end = world.run_to_next_end();
        ASSERT_TRUE(end.has_value());
        EXPECT_EQ(end->end(), 25_ns);
        told.push_back(end->party);
        world.start(end->party, 25_ns);  // at once: both share the link again
    }
    std::ranges::sort(told);
    EXPECT_EQ(told, (std::vector{0u, 1u}));
    EXPECT_EQ(world.run_to_next_end()->end(), 50_ns);
    EXPECT_EQ(world.run_to_next_end()->end(), 50_ns);
}

// Computes for 5 ns on each rank, and sends 10 bytes over link 0.
ProgramBuilder small_program() {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).kernel(5_ns);
    b.exchange({send(10)}, kCompute);
    b.role(1).exchange({receive(10)}, kCompute);
    return b;
}

TEST(World, AProgramJoinsBesideARunUnderWay) {
    ProgramBuilder b = small_program();
    const ScriptedNetwork network = two_ranks();
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    World world{rates};
    const Result<std::uint32_t> first = world.add(input);
    ASSERT_TRUE(first.has_value());
    world.start(*first, Time{});
    EXPECT_FALSE(world.run_to_next_end(7_ns).has_value());
    EXPECT_EQ(world.now(), 7_ns);
    // 8 bytes of the first are left; from 12 ns on, when 3 are, both share the link.
    const Result<std::uint32_t> second = world.add(input);
    ASSERT_TRUE(second.has_value());
    world.start(*second, 7_ns);
    std::optional<RunEnd> end = world.run_to_next_end();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->party, *first);
    EXPECT_EQ(end->end(), 18_ns);
    end = world.run_to_next_end();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->party, *second);
    EXPECT_EQ(end->end(), 25_ns);
    EXPECT_EQ(end->steps[0].path.total(), 25_ns);
    EXPECT_EQ(world.take_totals(*second).busy_sum[Cause::memory_bound_kernels], 5_ns);
}

TEST(World, RanksOfAProgramStandWhereItSays) {
    ProgramBuilder b = small_program();
    const ScriptedNetwork network = two_ranks();
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    World world{rates};
    world.start(*world.add(input), Time{});
    world.start(*world.add(input, {kRank1, kRank0}), Time{});  // the other way round: link 1
    EXPECT_EQ(world.run_to_next_end()->end(), 15_ns);
    EXPECT_EQ(world.run_to_next_end()->end(), 15_ns);
}

TEST(World, ProgramsThatHaveEndedLeave) {
    ProgramBuilder b = small_program();
    const ScriptedNetwork network = two_ranks();
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    World world{rates};
    for (std::uint32_t i = 0; i < 300; ++i) {
        const Result<std::uint32_t> party = world.add(input);
        ASSERT_TRUE(party.has_value());
        EXPECT_EQ(*party, i);
        world.start(*party, world.now());
        const std::optional<RunEnd> end = world.run_to_next_end();
        ASSERT_TRUE(end.has_value());
        EXPECT_EQ(end->party, i);
        EXPECT_EQ(end->end(), 15_ns * (i + 1));
        world.remove(i);
        EXPECT_EQ(world.num_programs(), 0u);
    }
    EXPECT_FALSE(world.run_to_next_end().has_value());
    EXPECT_FALSE(world.stuck());
}

TEST(World, AMalformedProgramDoesNotJoin) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({send(20)});
    const ScriptedNetwork network = two_ranks();
    NaiveRates rates(network.links());
    World world{rates};
    EXPECT_FALSE(world.add(b.input(network)).has_value());
    EXPECT_EQ(world.num_programs(), 0u);
}

TEST(World, TotalsCountTheLastStepOfEachRun) {
    Parties parties({5_ns, 7_ns}, {10, 20});
    World& world = *parties.world;
    world.start(0, Time{}, 3);
    ASSERT_TRUE(world.run_to_next_end().has_value());
    world.start(1, world.now());
    ASSERT_TRUE(world.run_to_next_end().has_value());
    EXPECT_EQ(world.take_totals().busy_sum[Cause::memory_bound_kernels], 12_ns);
    world.start(1, world.now());  // totals may be asked for in between
    ASSERT_TRUE(world.run_to_next_end().has_value());
    EXPECT_EQ(world.take_totals().busy_sum[Cause::memory_bound_kernels], 19_ns);
}

TEST(World, ARunThatCanNeverEndIsStuck) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({send(20)});
    b.role(1).exchange({receive(20)});
    ScriptedNetwork network = two_ranks();
    network.link_table[0].capacity = Bandwidth{};
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    const auto world = World::make(input, rates);
    ASSERT_TRUE(world.has_value());
    (*world)->start(0, 3_ns);
    EXPECT_FALSE((*world)->run_to_next_end().has_value());
    EXPECT_TRUE((*world)->stuck());
    EXPECT_FALSE((*world)->hang().has_value());
    EXPECT_NE((*world)->deadlock().what.find("no bandwidth"), std::string::npos);
}

TEST(World, RefusesAMalformedProgram) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({send(20)});
    const ScriptedNetwork network = two_ranks();
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    EXPECT_FALSE(World::make(input, rates).has_value());
}

}  // namespace world_test
}  // namespace orrery
