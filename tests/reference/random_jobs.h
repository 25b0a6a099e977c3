// SPDX-License-Identifier: Apache-2.0
// Random programs of several parties: jobs with programs of their own that share a network, start
// at different times and make different numbers of steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/program/merged_program.h"
#include "tests/reference/dice.h"
#include "tests/reference/random_program.h"

namespace orrery::reference {

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
inline void add_devices(const RandomCase& job,
                        std::size_t num_kernels,
                        std::size_t first,
                        Jobs& jobs) {
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

inline Jobs random_jobs(std::uint64_t seed, std::uint32_t count, bool symmetric) {
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

}  // namespace orrery::reference
