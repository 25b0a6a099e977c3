// SPDX-License-Identifier: Apache-2.0
// What the ops of a scenario's Program cost besides communication: kernels by the catalogue's
// curves, a step's factors (step_efficiency.h) and the user's profile, the slowest device, and the
// host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/cause.h"
#include "engine/program/program.h"
#include "engine/world/simulation.h"
#include "kernels/efficiency_table.h"
#include "kernels/profile.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/kernel_timings.h"

namespace orrery {

struct StepCostOptions {
    std::optional<EfficiencyTable> step_table;  // nothing: the catalogue's
    std::span<const KernelCall> loaded{};       // behind the program's (engine/program/step_load.h)
    std::optional<Cause> without;               // noise, launches or the host: costs nothing
};

// Rows of the table of factors: what a doubling of the GPUs adds to the shift, and one of the pace
// to the logarithm of the spread, of steps whose software or lineage was not seen. Costs of
// stragglers, exchanges and the host that such software has besides do not shrink with the work of
// a GPU.
inline constexpr std::string_view kShiftDoubling = "step.shift.doubling";
inline constexpr std::string_view kSpreadDoubling = "step.residual.doubling";

// Doublings of the GPUs for a second of the step, beyond eight: more GPUs and shorter steps leave
// each GPU less work between the points where all of them meet.
double doublings_of_pace(std::int64_t num_gpus, double step_s);

// What the factors leave of a step (StepResidual), by the step's size.
struct StepSpread {
    double sigma = 0;
    double shift = 0;
    double shift_doubling = 0;
    double sigma_doubling = 0;

    StepSpread at(std::int64_t num_gpus, double step_s) const;
};

// Of a step by all that was not seen of it, from the least.
std::vector<StepSpread> spreads_of(const Scenario& scenario,
                                   const DeviceSpec& device,
                                   const EfficiencyTable& factors);

struct StepCosts {
    std::vector<DeviceTimings> devices;  // by kind of node
    // Of the kind of nodes that is least sure of its kernels.
    KernelSummary kernels;
    Unseen unseen = Unseen::nothing;    // of the step
    std::vector<StepSpread> spreads{};  // of all that was not seen, from the least
    std::int64_t num_ranks = 1;
    double noise = 1;  // kernel times on the slowest device / on the mean one, of the first kind
    Time launch;       // of one op on the slowest host
    double launch_sigma = 0;
    // A calibration's (scenarios/format/specs/calibration.h), of the first kind of nodes.
    double communication = 1;  // time of a transfer / predicted time
    Time step;                 // of every step, beside all that is modelled
};

Result<StepCosts> step_costs(const Program& program,
                             const Scenario& scenario,
                             const Profile& profile,
                             const StepCostOptions& options);

// The widest of the spreads, for this step: more that was not seen is never less uncertain.
StepSpread spread_of(const StepCosts& costs, Time iteration);

// Exposed communication of every parallelism, and contention.
Time communication_on(const CauseTimes& critical_path);

// Relative standard deviation of a step by its communication and its host alone, as these shares of
// its critical path.
double sigma_beside_kernels(const CauseTimes& critical_path, Time iteration, double launch_sigma);

// Relative standard deviation of a simulated step: the shares of kernels, communication and the
// host on its critical path, each with its own error.
double relative_sigma(const SimulationResult& result, const StepCosts& costs);

}  // namespace orrery
