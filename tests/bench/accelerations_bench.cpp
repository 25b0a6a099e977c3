// SPDX-License-Identifier: Apache-2.0
// What each acceleration of the simulated executor (engine/simulation.h) is worth in a scenario:
// the CPU time of one step with all of them, without one at a time, and, if asked for, with none.
//   accelerations_bench [FILE [ROUNDS [none]]]
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "engine/simulated_executor.h"
#include "models/lowering.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/network/network_rates.h"
#include "scenarios/studies/simulate/step_costs.h"
#include "scenarios/studies/simulate/step_network.h"
#include "tests/reference/drawn_accelerations.h"

namespace orrery {
namespace {

double cpu_s() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// The fastest of several rounds.
void time_step(const std::string& what, const SimulationInput& input, int rounds) {
    double least = 1e9;
    SimulationResult result;
    for (int round = 0; round < rounds; ++round) {
        const auto rates = make_rates(NetworkFidelity::fluid, input.network->links());
        const double begin = cpu_s();
        SimulationOutcome outcome = simulate(input, *rates);
        least = std::min(least, cpu_s() - begin);
        if (!outcome) {
            fmt::print(stderr, "{}\n", outcome.error().to_string());
            return;
        }
        result = std::move(*outcome);
    }
    fmt::print("{:47} {:8.2f} s {:10} events {:9} solves {:7} classes, step of {} ps\n",
               what,
               least,
               result.events,
               result.rate_solves,
               result.fold_classes,
               result.iteration.picoseconds());
    std::fflush(stdout);
}

int run(const std::string& file, int rounds, bool none) {
    const auto scenario = read_scenario(file);
    if (!scenario) {
        fmt::print(stderr, "{}\n", scenario.error().front().to_string());
        return 1;
    }
    const Program program = lower(scenario->model, scenario->plan);
    const auto costs = step_costs(program, *scenario, {}, {});
    const auto network = build_step_network(*scenario, {}, {});
    if (!costs || !network) {
        fmt::print(stderr, "{}\n", (costs ? network.error() : costs.error()).to_string());
        return 1;
    }
    SimulationInput input;
    input.program = &program;
    input.network = network->nccl.get();
    input.devices = costs->devices;
    input.launch_cost = costs->launch;
    input.steps = scenario->job.steps;
    time_step("all", input, rounds);
    for (const reference::NamedAcceleration& acceleration : reference::kAccelerations) {
        SimulationInput without = input;
        without.accelerations.*acceleration.on = false;
        time_step(std::string{"without "} + acceleration.name, without, rounds);
    }
    // A group on its local clock has no events that a scheduled arrival could spare.
    SimulationInput common_clock = input;
    common_clock.accelerations.local_clocks = false;
    common_clock.accelerations.scheduled_arrivals = false;
    time_step("without local_clocks and scheduled_arrivals", common_clock, rounds);
    if (none) {
        input.accelerations = reference::accelerations_of(0);
        time_step("none", input, 1);
    }
    return 0;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
    return orrery::run(argc > 1 ? argv[1] : "scenarios/megascale-175b-12288.yaml",
                       argc > 2 ? std::stoi(argv[2]) : 3,
                       argc > 3);
}
