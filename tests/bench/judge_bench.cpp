// SPDX-License-Identifier: Apache-2.0
// FluidRates against SimGrid in one run, CPU time: three permutations with barriers on 10,240 NICs
// (30,720 flows), and asynchronous ones on 1,024 NICs. The larger asynchronous case is
// fluid_bench's: SimGrid needs half a minute for it.
#include <benchmark/benchmark.h>

#include <ctime>

#include "network/fluid/fluid.h"
#include "network/simgrid/simgrid.h"
#include "tests/network/permutation_tree.h"

namespace orrery {
namespace {

double cpu_s() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

template <auto Run>
void judge(benchmark::State& state) {
    if (!has_simgrid()) {
        state.SkipWithError("built without SimGrid");
        return;
    }
    const testing::PermutationTree tree(static_cast<std::uint32_t>(state.range(0)));
    double fluid_s = 0;
    double simgrid_s = 0;
    Time ours;
    Time judged;
    for (auto _ : state) {
        const double begin = cpu_s();
        FluidRates fluid(tree.links());
        ours = Run(fluid, tree, testing::add_permutations(fluid, tree), Time{});
        const double between = cpu_s();
        const auto simgrid = make_simgrid_rates(tree.links());
        judged = Run(*simgrid, tree, testing::add_permutations(*simgrid, tree), Time{});
        fluid_s += between - begin;
        simgrid_s += cpu_s() - between;
    }
    state.counters["fluid_s"] = fluid_s;
    state.counters["simgrid_s"] = simgrid_s;
    state.counters["times_faster"] = simgrid_s / fluid_s;
    state.counters["fluid_ms"] = ours.seconds() * 1e3;
    state.counters["simgrid_ms"] = judged.seconds() * 1e3;
}
BENCHMARK(judge<testing::run_with_barriers>)
    ->Name("with_barriers")
    ->Arg(10'240)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(judge<testing::run_without_barriers>)
    ->Name("without_barriers")
    ->Arg(1'024)
    ->Arg(2'048)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery
