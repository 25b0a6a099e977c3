// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/measured_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernels/cost_model.h"
#include "kernels/efficiency_table.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/studies/simulate/kernel_timings.h"
#include "scenarios/studies/simulate/measured_costs.h"

namespace orrery {
namespace {

// Runs of each kernel per step on a rank of the first role.
std::vector<std::int64_t> runs_of_first_role(const Program& program) {
    std::vector<std::int64_t> runs(program.kernels.size(), 0);
    for (const Slot& slot : program.roles.front().slots) {
        for (const Op& op : program.segment_of(slot).ops) {
            if (op.kind() == OpKind::kernel) {
                ++runs[index(op.payload.kernel())];
            }
        }
    }
    return runs;
}

std::string row(std::string_view name, std::int64_t runs, double measured, double predicted) {
    return fmt::format("  {:<24} {:>6} {:>12.3f} {:>12.3f} {:>9.2f}\n",
                       name,
                       runs,
                       1e3 * measured,
                       1e3 * predicted,
                       measured > 0 ? predicted / measured : 0.0);
}

}  // namespace

Result<std::vector<MeasuredKind>> compare_kernels(const Scenario& scenario,
                                                  const Program& program,
                                                  const OpTimes& times,
                                                  const std::string& profile_file) {
    const auto table =
        read_efficiency_table((default_catalogue() / "kernel_efficiency.csv").string());
    const auto step_table =
        read_efficiency_table((default_catalogue() / "step_efficiency.csv").string());
    if (!table || !step_table) {
        return unexpected<Error>((!table ? table.error() : step_table.error()).front());
    }
    MeasuredCosts costs;
    if (!profile_file.empty()) {
        const auto profile = read_machine_profile(profile_file);
        if (!profile) {
            return unexpected<Error>(profile.error().front());
        }
        const std::uint32_t ranks =
            std::min(program.num_ranks(), scenario.cluster.node.gpus_per_node);
        costs = measured_costs(*profile, scenario.device.name, ranks);
    }
    const CostModel cost{scenario.device, *table, costs.kernels};
    const StepEfficiency step{*step_table, scenario.device};
    const DeviceTimings predicted = time_kernels(program, cost, step, scenario.device, 1.0);
    const std::vector<std::int64_t> runs = runs_of_first_role(program);
    std::map<KernelKind, MeasuredKind> by_kind;
    for (std::uint32_t k = 0; k < runs.size(); ++k) {
        if (runs[k] == 0 || times.samples(k) == 0) {
            continue;
        }
        MeasuredKind& kind = by_kind[program.kernels[k].kind];
        const auto count = static_cast<double>(runs[k]);
        kind.kind = program.kernels[k].kind;
        kind.runs += runs[k];
        kind.measured_s += count * times.median(k);
        kind.predicted_s += count * predicted.kernels[k].duration.seconds();
    }
    std::vector<MeasuredKind> kinds;
    for (const auto& [kind, measured] : by_kind) {
        kinds.push_back(measured);
    }
    std::ranges::stable_sort(kinds, [](const MeasuredKind& a, const MeasuredKind& b) {
        return a.measured_s > b.measured_s;
    });
    return kinds;
}

std::string measured_report(const std::vector<MeasuredKind>& kinds) {
    std::string text = "\nKernels of a step on rank 0, measured beside predicted\n\n";
    text += fmt::format("  {:<24} {:>6} {:>12} {:>12} {:>9}\n",
                        "kernel",
                        "runs",
                        "measured ms",
                        "predicted ms",
                        "ratio");
    MeasuredKind all;
    for (const MeasuredKind& kind : kinds) {
        text += row(name(kind.kind), kind.runs, kind.measured_s, kind.predicted_s);
        all.runs += kind.runs;
        all.measured_s += kind.measured_s;
        all.predicted_s += kind.predicted_s;
    }
    return text + row("all", all.runs, all.measured_s, all.predicted_s);
}

}  // namespace orrery
