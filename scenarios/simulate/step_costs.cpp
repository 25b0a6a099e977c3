// SPDX-License-Identifier: Apache-2.0
#include "scenarios/simulate/step_costs.h"

#include "kernels/cost_model.h"
#include "scenarios/catalogue.h"
#include "scenarios/simulate/step_efficiency.h"

namespace orrery {
namespace {

Result<EfficiencyTable> catalogue_table(const char* file) {
    auto table = read_efficiency_table((default_catalogue() / file).string());
    if (!table) {
        return tl::unexpected(table.error().front());
    }
    return *std::move(table);
}

double slowest_device(const StepEfficiency& step, const Program& program, const ClusterSpec& c) {
    return step.slowest_of(program.num_ranks()) *
           slowest_server(c.slow_node_share, c.slow_node_slowdown, c.num_nodes);
}

}  // namespace

Result<StepCosts> step_costs(Program& program,
                             const Scenario& scenario,
                             const Profile& profile,
                             const StepCostOptions& options) {
    const Result<EfficiencyTable> curves = catalogue_table("kernel_efficiency.csv");
    if (!curves) {
        return tl::unexpected(curves.error());
    }
    const Result<EfficiencyTable> factors = options.step_table
                                                ? Result<EfficiencyTable>{*options.step_table}
                                                : catalogue_table("step_efficiency.csv");
    if (!factors) {
        return tl::unexpected(factors.error());
    }
    const CostModel cost{scenario.device, *curves, profile};
    const StepEfficiency step{*factors, scenario.device};
    StepCosts costs;
    costs.residual = step.residual(scenario.software, scenario.plan.precision);
    costs.noise =
        options.without == Cause::noise ? 1.0 : slowest_device(step, program, scenario.cluster);
    for (HostWork& work : program.host_works) {
        if (work.kind == HostWorkKind::restart) {
            work.duration = options.without == Cause::host ? Time{} : step.restart();
        }
    }
    costs.launch = options.without == Cause::launch ? Time{} : step.launch_cost(scenario.plan);
    costs.launch_sigma = step.launch_sigma(scenario.plan);
    costs.timings = time_kernels(program, cost, step, scenario.device, costs.noise);
    costs.kernels = summarise_kernels(program, costs.timings);
    return costs;
}

}  // namespace orrery
