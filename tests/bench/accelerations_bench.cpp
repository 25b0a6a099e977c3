// SPDX-License-Identifier: Apache-2.0
// What each acceleration of the simulated executor (engine/world/simulation.h) is worth in a
// scenario: the CPU time of one step with all of them and without one at a time, in turn, or
// without one that is named only; and, if asked for, with none.
//   accelerations_bench [FILE [ROUNDS [none | ACCELERATION]]]
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "engine/world/simulated_executor.h"
#include "models/lowering/lowering.h"
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

struct Timed {
    std::string what;
    SimulationInput input;
    double least = 1e9;
    SimulationResult result{};
};

void time_once(Timed& timed) {
    const auto rates = make_rates(NetworkFidelity::fluid, timed.input.network->links());
    const double begin = cpu_s();
    SimulationOutcome outcome = simulate(timed.input, *rates);
    timed.least = std::min(timed.least, cpu_s() - begin);
    if (outcome) {
        timed.result = std::move(*outcome);
    } else {
        fmt::print(stderr, "{}\n", outcome.error().to_string());
    }
}

// The fastest of several rounds, in which they take turns.
void time_steps(std::vector<Timed> all, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        for (Timed& one : all) {
            time_once(one);
        }
    }
    for (const Timed& one : all) {
        fmt::print("{:47} {:8.2f} s {:10} events {:9} solves {:7} classes, step of {} ps\n",
                   one.what,
                   one.least,
                   one.result.events,
                   one.result.rate_solves,
                   one.result.fold_classes,
                   one.result.iteration.picoseconds());
    }
    std::fflush(stdout);
}

int run(const std::string& file, int rounds, const std::string& which) {
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
    std::vector<Timed> timed{{"all", input}};
    for (const reference::NamedAcceleration& acceleration : reference::kAccelerations) {
        if (which.empty() || which == "none" || which == acceleration.name) {
            timed.push_back({std::string{"without "} + acceleration.name, input});
            timed.back().input.accelerations.*acceleration.on = false;
        }
    }
    time_steps(std::move(timed), rounds);
    if (which == "none") {
        input.accelerations = reference::accelerations_of(0);
        time_steps({{"none", input}}, 1);
    }
    return 0;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
    return orrery::run(argc > 1 ? argv[1] : "scenarios/megascale-175b-12288.yaml",
                       argc > 2 ? std::stoi(argv[2]) : 3,
                       argc > 3 ? argv[3] : "");
}
