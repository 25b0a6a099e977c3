// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/cost_model.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/specs/calibration.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/simulate/step_efficiency.h"

namespace orrery {
namespace {

// Relative standard deviation of an uncalibrated collective's time: the model's median error on the
// published tables (tests/network/collectives_published_test.cpp prints it).
constexpr double kCommunicationSigma = 0.15;

Result<EfficiencyTable> catalogue_table(const char* file) {
    auto table = read_efficiency_table((default_catalogue() / file).string());
    if (!table) {
        return tl::unexpected(table.error().front());
    }
    return *std::move(table);
}

// Number of ranks with the same device as this kind of nodes.
std::uint32_t ranks_like(std::uint32_t kind, const Program& program, const Scenario& scenario) {
    if (scenario.devices.size() < 2) {
        return static_cast<std::uint32_t>(program.num_ranks());
    }
    const std::vector<std::uint32_t> of_kinds = ranks_of_kinds(scenario.cluster);
    std::uint32_t ranks = 0;
    for (std::uint32_t other = 0; other < of_kinds.size(); ++other) {
        ranks += scenario.devices[other].name == scenario.devices[kind].name ? of_kinds[other] : 0;
    }
    return ranks;
}

// Factor of the slowest of equal devices. Ranks wait for the slowest device of their own sort.
double slowest_device(const StepEfficiency& step, std::uint32_t ranks, const ClusterSpec& c) {
    return step.slowest_of(ranks) *
           slowest_server(c.slow_node_share, c.slow_node_slowdown, c.num_servers());
}

// Checks that the step ends within a simulation's clock of 106 days. The kernels of all roles are
// added up, because stages may wait for each other.
Result<void> check_clock(const Program& program,
                         const Scenario& scenario,
                         const KernelSummary& kernels,
                         Time launch) {
    constexpr double kLongest_s = 4e6;
    double ops = 0;
    for (const std::int64_t count : kernel_counts(program)) {
        ops += static_cast<double>(count);
    }
    const double seconds =
        kernels.mean_per_rank.seconds() * static_cast<double>(program.roles.size()) +
        launch.seconds() * ops;
    if (seconds * static_cast<double>(scenario.job.steps) <= kLongest_s) {
        return {};
    }
    return fail("",
                fmt::format("the kernels of {} simulated steps take {:.0f} days or more, and the "
                            "clock ends after 106",
                            scenario.job.steps,
                            seconds * static_cast<double>(scenario.job.steps) / 86'400),
                "a smaller model or batch, shorter sequences, or fewer job.steps");
}

}  // namespace

Time communication_on(const CauseTimes& critical_path) {
    Time communication;
    for (const Cause c : {Cause::exposed_tensor,
                          Cause::exposed_context,
                          Cause::exposed_expert,
                          Cause::exposed_data,
                          Cause::exposed_pipeline,
                          Cause::exposed_other,
                          Cause::network_contention}) {
        communication += critical_path[c];
    }
    return communication;
}

Result<StepCosts> step_costs(const Program& program,
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
    StepCosts costs;
    costs.num_ranks = static_cast<std::int64_t>(program.num_ranks());
    costs.communication = calibrated_factor(
        *factors, calibration_factor("communication"), scenario.device.generation);
    costs.step = options.without == Cause::host
                     ? Time{}
                     : calibrated_step(*factors, scenario.device.generation);
    for (std::uint32_t kind = 0; kind < scenario.cluster.num_kinds(); ++kind) {
        const DeviceSpec& device = scenario.device_of_kind(kind);
        const CostModel cost{device, *curves, profile};
        const StepEfficiency step{*factors, device};
        const double noise =
            options.without == Cause::noise
                ? 1.0
                : slowest_device(step, ranks_like(kind, program, scenario), scenario.cluster);
        DeviceTimings timings = time_kernels(program, cost, step, device, noise, options.loaded);
        timings.restart = options.without == Cause::host ? Time{} : step.restart();
        const KernelSummary kernels = summarise_kernels(program, timings);
        const StepResidual residual = step.residual(
            scenario.software, scenario.plan.precision, scenario.model.num_experts > 0);
        const Time launch =
            options.without == Cause::launch ? Time{} : step.launch_cost(scenario.plan);
        if (const auto good = check_clock(program, scenario, kernels, launch); !good) {
            return tl::unexpected(good.error());
        }
        costs.noise = kind == 0 ? noise : costs.noise;
        if (kind == 0 || kernels.relative_sigma > costs.kernels.relative_sigma) {
            costs.kernels = kernels;
        }
        if (kind == 0 || residual.sigma > costs.spreads.back().sigma) {
            costs.unseen = residual.unseen;
            costs.spreads = spreads_of(scenario, device, *factors);
        }
        if (kind == 0 || launch > costs.launch) {
            costs.launch = launch;
            costs.launch_sigma = step.launch_sigma(scenario.plan);
        }
        costs.devices.push_back(std::move(timings));
    }
    return costs;
}

double doublings_of_pace(std::int64_t num_gpus, double step_s) {
    constexpr double kSlow = 8;  // GPUs per second
    const double pace = static_cast<double>(num_gpus) / kSlow;
    return step_s > 0 && pace > step_s ? std::log2(pace / step_s) : 0;
}

StepSpread StepSpread::at(std::int64_t num_gpus, double step_s) const {
    const double doublings = std::log2(static_cast<double>(std::max<std::int64_t>(1, num_gpus)));
    return {.sigma = sigma * std::exp(sigma_doubling * doublings_of_pace(num_gpus, step_s)),
            .shift = shift + shift_doubling * doublings};
}

std::vector<StepSpread> spreads_of(const Scenario& scenario,
                                   const DeviceSpec& device,
                                   const EfficiencyTable& factors) {
    const StepEfficiency step{factors, device};
    const auto value = [&](std::string_view row) {
        return factors.value_or(row, device.generation, "*", 0.0);
    };
    const StepResidual dense = step.residual(scenario.software, scenario.plan.precision);
    StepSpread spread{.sigma = dense.sigma, .shift = dense.shift};
    if (dense.widest == Unseen::software || dense.widest == Unseen::lineage) {
        spread.shift_doubling = value(kShiftDoubling);
        spread.sigma_doubling = value(kSpreadDoubling);
    }
    std::vector<StepSpread> spreads{spread};
    const bool experts = scenario.model.num_experts > 0;
    const StepResidual whole = step.residual(scenario.software, scenario.plan.precision, experts);
    if (whole.sigma > dense.sigma) {
        spreads.push_back({.sigma = whole.sigma, .shift = whole.shift});
    }
    return spreads;
}

StepSpread spread_of(const StepCosts& costs, Time iteration) {
    StepSpread widest;
    for (const StepSpread& spread : costs.spreads) {
        const StepSpread here = spread.at(costs.num_ranks, iteration.seconds());
        widest = here.sigma > widest.sigma ? here : widest;
    }
    return widest;
}

double sigma_beside_kernels(const CauseTimes& critical_path, Time iteration, double launch_sigma) {
    const double share = communication_on(critical_path) / iteration;
    const double host = critical_path[Cause::launch] / iteration;
    return std::hypot(kCommunicationSigma * share, launch_sigma * host);
}

double relative_sigma(const SimulationResult& result, const StepCosts& costs) {
    const double share = communication_on(result.critical_path) / result.iteration;
    const double host = result.critical_path[Cause::launch] / result.iteration;
    // Kernels on the curves have the spread between families of steps (step.residual).
    const double curves = costs.kernels.sources.roofline;
    const double residual = spread_of(costs, result.iteration).sigma;
    const double kernels =
        residual > 0 ? std::hypot(residual * curves, costs.kernels.relative_sigma * (1 - curves))
                     : costs.kernels.relative_sigma;
    // The spread of unseen software or devices was measured on whole steps, including the host.
    const bool whole = costs.unseen != Unseen::nothing && curves > 0;
    // Products of the fitted steps were near measured ones, so the uncertainty by distance is
    // added.
    const double far = residual > 0 ? costs.kernels.distance_sigma : 0;
    return std::hypot(
        kernels * (whole ? 1 : 1 - share - host),
        far * (1 - share - host),
        sigma_beside_kernels(result.critical_path, result.iteration, costs.launch_sigma));
}

}  // namespace orrery
