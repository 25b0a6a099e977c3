// SPDX-License-Identifier: Apache-2.0
// How long the simulated executor takes on a job of 12,288 ranks, folded and with nothing folded,
// and on 8 ranks; and how long the tapes of 16 stages take to build. Counters: ops of all ranks and
// steps per second, transfers that shared links; ops of all roles per second.
#include <benchmark/benchmark.h>

#include "engine/program/role_tape.h"
#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "tests/bench/megascale_program.h"

namespace orrery {
namespace {

void simulate_megascale(benchmark::State& state, const MegascaleShape& shape, bool fold) {
    const Program program = megascale_program(shape);
    const RailNetwork network(program.num_ranks());
    SimulationInput input = megascale_input(program, network);
    input.accelerations.fold(fold);
    for (auto _ : state) {
        FluidRates rates(network.links());
        const SimulationOutcome outcome = simulate(input, rates);
        if (!outcome) {
            state.SkipWithError(outcome.error().to_string().c_str());
            return;
        }
        state.counters["ops_per_second"] = benchmark::Counter(
            static_cast<double>(outcome->simulated_ops), benchmark::Counter::kIsRate);
        state.counters["flows"] = static_cast<double>(outcome->flows);
        state.counters["classes"] = outcome->fold_classes;
        state.counters["iteration_s"] = outcome->iteration.seconds();
    }
}

void folded(benchmark::State& state) {
    simulate_megascale(state, {}, true);
}
void unfolded(benchmark::State& state) {
    simulate_megascale(state, {}, false);
}
void eight_ranks(benchmark::State& state) {
    simulate_megascale(state, {.data_parallel = 1, .stages = 1, .micro_batches = 16}, true);
}
void tenth_unfolded(benchmark::State& state) {
    simulate_megascale(state, {.data_parallel = 19}, false);
}

void tapes(benchmark::State& state) {
    const Program program = megascale_program({.data_parallel = 1, .stages = 16});
    std::int64_t ops = 0;
    for (auto _ : state) {
        for (const RoleTape& tape : build_tapes(program, Time::picoseconds(1000)).roles) {
            ops += tape.num_ops;
        }
    }
    state.counters["ops_per_second"] =
        benchmark::Counter(static_cast<double>(ops), benchmark::Counter::kIsRate);
}

BENCHMARK(tapes)->Unit(benchmark::kMillisecond);
BENCHMARK(eight_ranks)->Unit(benchmark::kMillisecond);
BENCHMARK(folded)->Unit(benchmark::kMillisecond);
BENCHMARK(tenth_unfolded)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(unfolded)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace orrery
