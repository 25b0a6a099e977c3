// SPDX-License-Identifier: Apache-2.0
// The simulated executor against the reference, to the picosecond, on programs of several parties:
// jobs with programs of their own that share a network, start at different times and make different
// numbers of steps.
#include <gtest/gtest.h>

#include "engine/merged_program.h"
#include "engine/simulated_executor.h"
#include "network/fluid.h"
#include "tests/reference/dice.h"
#include "tests/reference/drawn_accelerations.h"
#include "tests/reference/random_program.h"
#include "tests/reference/reference_executor.h"
#include "tests/reference/trace_difference.h"

namespace orrery::reference {
namespace {

struct Jobs {
    std::vector<RandomCase> cases;
    Program program;
    std::unique_ptr<TableNetwork> network;
    std::vector<DeviceTimings> devices;
    std::vector<std::uint16_t> device_class;
    std::vector<PartyRun> runs;

    SimulationInput input(const Accelerations& accelerations) const {
        SimulationInput input{.program = &program,
                              .network = network.get(),
                              .devices = devices,
                              .device_class = device_class,
                              .runs = runs};
        input.accelerations = accelerations;
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            input.traced_ranks.push_back(to_id<RankId>(r));
        }
        return input;
    }
};

// The devices of a job have no times for the kernels of the others.
void add_devices(const RandomCase& job, std::size_t num_kernels, std::size_t first, Jobs& jobs) {
    const auto base = static_cast<std::uint16_t>(jobs.devices.size());
    for (const DeviceTimings& device : job.devices) {
        DeviceTimings wider = device;
        wider.kernels.assign(num_kernels, KernelTime{});
        std::ranges::copy(device.kernels, wider.kernels.begin() + static_cast<long>(first));
        jobs.devices.push_back(std::move(wider));
    }
    for (std::uint32_t r = 0; r < job.program.num_ranks(); ++r) {
        const std::uint16_t own = job.device_class.empty() ? 0 : job.device_class[r];
        jobs.device_class.push_back(static_cast<std::uint16_t>(base + own));
    }
}

Jobs random_jobs(std::uint64_t seed, std::uint32_t count, bool symmetric) {
    Dice dice{seed};
    Jobs jobs;
    std::vector<ProgramToMerge> programs;
    std::uint32_t ranks = 0;
    for (std::uint32_t j = 0; j < count; ++j) {
        jobs.cases.push_back(random_case({.seed = seed * 10 + j,
                                          .num_ranks = dice.pick(std::vector{4u, 8u, 16u}),
                                          .blocks = 3,
                                          .slots = 6,
                                          .symmetric = symmetric}));
        ranks += jobs.cases.back().program.num_ranks();
    }
    for (const RandomCase& job : jobs.cases) {
        programs.push_back({"job " + std::to_string(programs.size()), &job.program});
        jobs.runs.push_back({.start = Time::picoseconds(
                                 dice.chance(30) ? 0 : dice.between<std::int64_t>(0, 90'000'000)),
                             .steps = dice.between(1u, 4u),
                             .launch_cost = job.launch_cost});
    }
    jobs.program = merge_programs(programs);
    std::size_t first = 0;
    for (const RandomCase& job : jobs.cases) {
        add_devices(job, jobs.program.kernels.size(), first, jobs);
        first += job.program.kernels.size();
    }
    TableNetworkShape shape = jobs.cases.front().network_shape;
    shape.num_ranks = ranks;
    if (seed % 4 != 0) {  // three leaves with one way up, of which jobs share the middle one
        shape.ranks_per_node = 1;
        shape.nodes_per_leaf = ranks / 3 + 1;
        shape.uplinks_per_leaf = 1;
    }
    shape.contention = true;
    jobs.network = std::make_unique<TableNetwork>(shape);
    return jobs;
}

// Compares at the first difference; true if there is none.
bool agree(const Jobs& jobs, std::uint64_t seed) {
    const SimulationOutcome expected = reference_simulate(jobs.input({}));
    EXPECT_TRUE(expected.has_value()) << expected.error().to_string();
    for (const Accelerations& chosen :
         {accelerations_of(0), Accelerations{}, drawn_accelerations(seed, false)}) {
        SCOPED_TRACE(describe(chosen));
        FluidRates rates{jobs.network->links()};
        const SimulationOutcome actual = simulate(jobs.input(chosen), rates);
        EXPECT_TRUE(actual.has_value()) << actual.error().to_string();
        if (!expected || !actual) {
            return false;
        }
        EXPECT_EQ(first_difference(expected->trace, actual->trace), "");
        EXPECT_EQ(actual->parties.size(), expected->parties.size());
        for (std::size_t p = 0; p < actual->parties.size(); ++p) {
            EXPECT_EQ(actual->parties[p].step_end, expected->parties[p].step_end) << "party " << p;
            EXPECT_EQ(actual->parties[p].iteration, expected->parties[p].iteration);
            EXPECT_EQ(actual->parties[p].slowest_rank, expected->parties[p].slowest_rank);
        }
        EXPECT_EQ(actual->simulated_ops, expected->simulated_ops);
        if (testing::Test::HasFailure()) {
            return false;
        }
    }
    return true;
}

TEST(Parties, ExecutorsAgreeOnEveryOpOfJobsThatShareANetwork) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        if (!agree(random_jobs(seed, seed % 3 == 0 ? 3 : 2, seed % 2 == 0), seed)) {
            return;
        }
    }
}

// Jobs that could not be told from each other alone would agree as well.
TEST(Parties, JobsOnOneNetworkSlowEachOtherDown) {
    int slower = 0;
    int later = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Jobs jobs = random_jobs(seed, 2, false);
        FluidRates rates{jobs.network->links()};
        const SimulationOutcome together = simulate(jobs.input({}), rates);
        ASSERT_TRUE(together.has_value()) << together.error().to_string();
        SimulationInput input = jobs.input({});
        // The second job starts when the first has ended.
        input.runs[1].start =
            together->parties[0].step_end.back() + Time::picoseconds(1'000'000'000);
        FluidRates rates_alone{jobs.network->links()};
        const SimulationOutcome alone = simulate(input, rates_alone);
        ASSERT_TRUE(alone.has_value()) << alone.error().to_string();
        ASSERT_LT(alone->parties[0].step_end.back(), input.runs[1].start);
        slower += together->parties[0].step_end.back() > alone->parties[0].step_end.back() ? 1 : 0;
        later += alone->parties[1].step_end.front() > input.runs[1].start ? 1 : 0;
    }
    EXPECT_GE(slower, 5);
    EXPECT_EQ(later, 40);
}

}  // namespace
}  // namespace orrery::reference
