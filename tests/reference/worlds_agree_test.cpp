// SPDX-License-Identifier: Apache-2.0
// Runs that a client of a world starts while it runs, against executors that know all runs from the
// beginning, to the picosecond.
#include <gtest/gtest.h>

#include "engine/world/placed_network.h"
#include "engine/world/simulated_executor.h"
#include "engine/world/world.h"
#include "network/fluid/fluid.h"
#include "tests/engine/random_program.h"
#include "tests/engine/step_ending.h"
#include "tests/engine/toy_network.h"
#include "tests/reference/drawn_accelerations.h"
#include "tests/reference/random_jobs.h"
#include "tests/reference/reference_executor.h"

namespace orrery::reference {
namespace {

// Two jobs, and the first once more as a party of its own, on the same GPUs.
struct JobsAndTheFirstAgain {
    explicit JobsAndTheFirstAgain(std::uint64_t seed)
        : jobs(random_jobs(seed, 2, seed % 2 == 0)),
          first(jobs.program.num_ranks()),
          network(*jobs.network, places()) {
        const RandomCase& one = jobs.cases[0];
        const RandomCase& two = jobs.cases[1];
        const std::array programs = {ProgramToMerge{"one", &one.program},
                                     ProgramToMerge{"two", &two.program},
                                     ProgramToMerge{"one again", &one.program}};
        all.program = merge_programs(programs);
        const std::size_t kernels = all.program.kernels.size();
        const std::size_t own = one.program.kernels.size();
        add_devices(one, kernels, 0, all);
        add_devices(two, kernels, own, all);
        add_devices(one, kernels, kernels - own, all);
        all.runs = jobs.runs;
    }

    std::vector<RankId> places() const {
        std::vector<RankId> places;
        for (std::uint32_t r = 0; r < first + jobs.cases[0].program.num_ranks(); ++r) {
            places.push_back(to_id<RankId>(r % first));
        }
        return places;
    }

    Jobs jobs;
    std::uint32_t first;  // rank of the first job's second party
    PlacedNetwork network;
    Jobs all;
};

void expect_same(const RunEnd& run, const PartySteps& expected, std::uint32_t first_rank) {
    ASSERT_EQ(run.steps.size(), expected.step_end.size());
    for (std::size_t step = 0; step < run.steps.size(); ++step) {
        EXPECT_EQ(run.steps[step].time, expected.step_end[step]) << "step " << step;
    }
    EXPECT_EQ(index(run.steps.back().rank) + first_rank, index(expected.slowest_rank));
}

TEST(Worlds, ARunThatAClientStartsAgreesWithTheReference) {
    int overlapping = 0;
    for (std::uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
        JobsAndTheFirstAgain both(seed);
        Dice dice{seed};
        const Time pause =
            Time::picoseconds(dice.chance(50) ? 0 : dice.between<std::int64_t>(0, 20'000'000));
        const std::uint32_t steps = dice.between(1u, 3u);
        std::optional<SimulationOutcome> expected;
        for (const Accelerations& chosen :
             {Accelerations{}, accelerations_of(0), drawn_accelerations(seed, false)}) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(chosen));
            SimulationInput input = both.jobs.input(chosen);
            input.traced_ranks.clear();
            FluidRates rates{input.network->links()};
            const auto world = World::make(input, rates);
            ASSERT_TRUE(world.has_value()) << world.error().to_string();
            for (std::uint32_t p = 0; p < 2; ++p) {
                (*world)->start(p, both.jobs.runs[p].start, both.jobs.runs[p].steps);
            }
            std::vector<RunEnd> ends(3);
            bool again = false;
            while (std::optional<RunEnd> end = (*world)->run_to_next_end()) {
                if (end->party == 0 && !again) {
                    again = true;
                    (*world)->start(0, end->end() + pause, steps);
                    ends[0] = std::move(*end);
                } else {
                    ends[end->party == 0 ? 2 : 1] = std::move(*end);
                }
            }
            if (!expected) {
                both.all.runs.resize(2);
                both.all.runs.push_back({.start = ends[0].end() + pause,
                                         .steps = steps,
                                         .launch_cost = both.jobs.runs[0].launch_cost});
                SimulationInput whole{.program = &both.all.program,
                                      .network = &both.network,
                                      .devices = both.all.devices,
                                      .device_class = both.all.device_class,
                                      .runs = both.all.runs};
                expected = reference_simulate(whole);
                ASSERT_TRUE(expected->has_value()) << expected->error().to_string();
            }
            expect_same(ends[0], (*expected)->parties[0], 0);
            expect_same(ends[1], (*expected)->parties[1], 0);
            expect_same(ends[2], (*expected)->parties[2], both.first);
            overlapping += ends[2].start < ends[1].end() && ends[1].start < ends[2].end() ? 1 : 0;
        }
    }
    EXPECT_GT(overlapping, 60);
}

// Programs that join while others run, and one that joins once more on the same GPUs when its first
// run has ended.
class JoiningJobs {
public:
    JoiningJobs(const JobsAndTheFirstAgain& both, const Accelerations& chosen)
        : both_(both), chosen_(chosen), rates_(both.jobs.network->links()), world_(rates_) {}

    // Each job joins at its time of `joins`; `pause` and `steps` are of the first job's second run.
    std::vector<RunEnd> run(const std::array<Time, 2>& joins, Time pause, std::uint32_t steps) {
        pause_ = pause;
        steps_ = steps;
        const std::uint32_t earlier = joins[0] <= joins[1] ? 0 : 1;
        for (const std::uint32_t job : {earlier, 1 - earlier}) {
            take_ends(joins[job]);
            EXPECT_EQ(world_.now(), joins[job]);
            const PartyRun& run = both_.jobs.runs[job];
            world_.start(add(job, job), run.start, run.steps);
        }
        take_ends(Time::max());
        EXPECT_EQ(world_.num_programs(), 0u);
        return std::move(ends_);
    }

private:
    std::uint32_t add(std::uint32_t job, std::uint32_t run) {
        const RandomCase& of = both_.jobs.cases[job];
        SimulationInput input{.program = &of.program,
                              .network = both_.jobs.network.get(),
                              .devices = of.devices,
                              .device_class = of.device_class,
                              .launch_cost = both_.jobs.runs[job].launch_cost};
        input.accelerations = chosen_;
        std::vector<RankId> places;
        const std::uint32_t first = job == 0 ? 0 : both_.jobs.cases[0].program.num_ranks();
        for (std::uint32_t r = 0; r < of.program.num_ranks(); ++r) {
            places.push_back(to_id<RankId>(first + r));
        }
        const Result<std::uint32_t> party = world_.add(input, std::move(places));
        EXPECT_TRUE(party.has_value());
        runs_.resize(*party + 1);
        runs_[*party] = run;
        return *party;
    }

    void take_ends(Time limit) {
        while (std::optional<RunEnd> end = world_.run_to_next_end(limit)) {
            const std::uint32_t run = runs_[end->party];
            world_.remove(end->party);
            if (run == 0) {
                world_.start(add(0, 2), end->end() + pause_, steps_);
            }
            ends_[run] = std::move(*end);
        }
        EXPECT_FALSE(world_.stuck());
    }

    const JobsAndTheFirstAgain& both_;
    const Accelerations& chosen_;
    FluidRates rates_;
    World world_;
    Time pause_;
    std::uint32_t steps_ = 0;
    std::vector<std::uint32_t> runs_;  // by party
    std::vector<RunEnd> ends_{3};
};

TEST(Worlds, ProgramsThatJoinAgreeWithTheReference) {
    int overlapping = 0;
    int later = 0;
    for (std::uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
        JobsAndTheFirstAgain both(seed);
        Dice dice{seed};
        const Time pause =
            Time::picoseconds(dice.chance(50) ? 0 : dice.between<std::int64_t>(0, 20'000'000));
        const std::uint32_t steps = dice.between(1u, 3u);
        std::array<Time, 2> joins;
        for (std::size_t job = 0; job < 2; ++job) {
            const std::int64_t start = both.jobs.runs[job].start.picoseconds();
            joins[job] =
                Time::picoseconds(dice.chance(50) ? start : dice.between(std::int64_t{0}, start));
            later += joins[job] > Time{} ? 1 : 0;
        }
        std::optional<SimulationOutcome> expected;
        for (const Accelerations& chosen :
             {Accelerations{}, accelerations_of(0), drawn_accelerations(seed, false)}) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(chosen));
            const std::vector<RunEnd> ends = JoiningJobs{both, chosen}.run(joins, pause, steps);
            ASSERT_TRUE(!ends[0].steps.empty() && !ends[1].steps.empty() && !ends[2].steps.empty());
            if (!expected) {
                both.all.runs.resize(2);
                both.all.runs.push_back({.start = ends[0].end() + pause,
                                         .steps = steps,
                                         .launch_cost = both.jobs.runs[0].launch_cost});
                const SimulationInput whole{.program = &both.all.program,
                                            .network = &both.network,
                                            .devices = both.all.devices,
                                            .device_class = both.all.device_class,
                                            .runs = both.all.runs};
                expected = reference_simulate(whole);
                ASSERT_TRUE(expected->has_value()) << expected->error().to_string();
            }
            expect_same(ends[0], (*expected)->parties[0], 0);
            expect_same(ends[1], (*expected)->parties[1], both.jobs.cases[0].program.num_ranks());
            expect_same(ends[2], (*expected)->parties[2], both.first);
            overlapping += ends[2].start < ends[1].end() && ends[1].start < ends[2].end() ? 1 : 0;
        }
    }
    EXPECT_GT(overlapping, 60);
    EXPECT_GT(later, 100);
}

CauseTimes path_of_step(const std::vector<StepEnd>& steps, std::size_t step, Time start) {
    CauseTimes path = steps[step].path.by_cause();
    if (step > 0) {
        path -= steps[step - 1].path.by_cause();
    } else {
        path[Cause::launch] -= start;
    }
    return path;
}

// If all ranks end a step at one instant, a run of several steps is as many runs of one.
TEST(Worlds, RunsOfOneStepAreARunOfSeveralWhereAllRanksMeetAtTheEnd) {
    constexpr std::uint32_t kSteps = 4;
    for (std::uint64_t seed = 50'001; seed <= 50'200 && !testing::Test::HasFailure(); ++seed) {
        orrery::RandomCase random = orrery::random_case(seed, seed % 2 == 0);
        append_ending(random, {true, true, 0, 4000}, seed);
        const ToyNetwork network(random.network);
        SimulationInput input = random.input;
        input.program = &random.program;
        input.network = &network;
        input.traced_ranks.clear();
        input.accelerations = seed % 3 == 0 ? drawn_accelerations(seed, false) : Accelerations{};
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(input.accelerations));
        FluidRates rates{network.links()};
        const auto whole = World::make(input, rates);
        ASSERT_TRUE(whole.has_value()) << whole.error().to_string();
        (*whole)->start(0, Time{}, kSteps);
        const std::optional<RunEnd> run = (*whole)->run_to_next_end();
        ASSERT_TRUE(run.has_value());
        FluidRates again{network.links()};
        const auto single = World::make(input, again);
        for (std::uint32_t step = 0; step < kSteps; ++step) {
            const Time start = (*single)->now();
            (*single)->start(0, start);
            const std::optional<RunEnd> end = (*single)->run_to_next_end();
            ASSERT_TRUE(end.has_value());
            EXPECT_EQ(end->end(), run->steps[step].time) << "step " << step;
            EXPECT_EQ(end->steps[0].rank, run->steps[step].rank);
            EXPECT_EQ(path_of_step(end->steps, 0, start).of,
                      path_of_step(run->steps, step, Time{}).of);
        }
    }
}

// What a serving loop does: iterations of several programs in turn on the same GPUs.
TEST(Worlds, ProgramsThatTakeTurnsOnTheSameGpusTakeAsLongAsAlone) {
    for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
        const Jobs jobs = random_jobs(seed, 3, seed % 2 == 0);
        std::vector<RankId> places;
        std::vector<Time> alone;
        for (const RandomCase& job : jobs.cases) {
            for (std::uint32_t r = 0; r < job.program.num_ranks(); ++r) {
                places.push_back(to_id<RankId>(r));
            }
            const SimulationInput own{.program = &job.program,
                                      .network = jobs.network.get(),
                                      .devices = job.devices,
                                      .device_class = job.device_class,
                                      .launch_cost = job.launch_cost,
                                      .steps = 1};
            FluidRates rates{own.network->links()};
            const SimulationOutcome result = simulate(own, rates);
            ASSERT_TRUE(result.has_value()) << result.error().to_string();
            alone.push_back(result->iteration);
        }
        const PlacedNetwork network(*jobs.network, places);
        SimulationInput input = jobs.input({});
        input.network = &network;
        input.traced_ranks.clear();
        FluidRates rates{network.links()};
        const auto world = World::make(input, rates);
        ASSERT_TRUE(world.has_value()) << world.error().to_string();
        Dice dice{seed};
        for (int turn = 0; turn < 9; ++turn) {
            const std::uint32_t party = dice.between(0u, 2u);
            const Time start = (*world)->now() + Time::picoseconds(dice.between(0, 5) * 1'000);
            (*world)->start(party, start);
            const std::optional<RunEnd> end = (*world)->run_to_next_end();
            ASSERT_TRUE(end.has_value());
            EXPECT_EQ(end->end() - start, alone[party]) << "seed " << seed << " turn " << turn;
        }
    }
}

}  // namespace
}  // namespace orrery::reference
