// SPDX-License-Identifier: Apache-2.0
// Costs of the ops of a scenario's Program except communication: kernels by the catalogue's curves,
// a step's factors (step_efficiency.h) and the user's profile, the slowest device, and the host.
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
    std::span<const KernelCall> loaded{};       // appended (engine/program/step_load.h)
    std::optional<Cause> without;               // noise, launches or the host cost nothing
};

// Rows of the table of factors, for steps of unseen software or lineage: the increase of the shift
// per doubling of the GPUs, and of the spread's logarithm per doubling of the pace. The further
// costs of such software (stragglers, exchanges, the host) do not shrink with the work of a GPU.
inline constexpr std::string_view kShiftDoubling = "step.shift.doubling";
inline constexpr std::string_view kSpreadDoubling = "step.residual.doubling";

// Doublings of the GPUs per second of step time beyond eight. More GPUs and shorter steps leave
// each GPU less work between the points at which all GPUs meet.
double doublings_of_pace(std::int64_t num_gpus, double step_s);

// The residual of a step (StepResidual) as a function of its size.
struct StepSpread {
    double sigma = 0;
    double shift = 0;
    double shift_doubling = 0;
    double sigma_doubling = 0;

    StepSpread at(std::int64_t num_gpus, double step_s) const;
};

// Spreads of a step by its unseen properties, the smallest first.
std::vector<StepSpread> spreads_of(const Scenario& scenario,
                                   const DeviceSpec& device,
                                   const EfficiencyTable& factors);

struct StepCosts {
    std::vector<DeviceTimings> devices;  // by kind of node
    // of the kind of nodes with the least certain kernels
    KernelSummary kernels;
    Unseen unseen = Unseen::nothing;    // uncovered property of the step
    std::vector<StepSpread> spreads{};  // by unseen properties, the smallest first
    std::int64_t num_ranks = 1;
    double noise = 1;  // kernel times on the slowest device / on the mean one, of the first kind
    Time launch;       // of one op on the slowest host
    double launch_sigma = 0;
    // Factors of a calibration (scenarios/format/specs/calibration.h) for the first kind of nodes.
    double communication = 1;  // time of a transfer / predicted time
    Time step;                 // constant time of every step beside the modelled times
};

Result<StepCosts> step_costs(const Program& program,
                             const Scenario& scenario,
                             const Profile& profile,
                             const StepCostOptions& options);

// The widest spread for this step: a further unseen property never reduces the uncertainty.
StepSpread spread_of(const StepCosts& costs, Time iteration);

// Exposed communication of all parallel axes, with contention.
Time communication_on(const CauseTimes& critical_path);

// Relative standard deviation of a step from communication and host alone, by their shares of its
// critical path.
double sigma_beside_kernels(const CauseTimes& critical_path, Time iteration, double launch_sigma);

// Relative standard deviation of a simulated step: the shares of kernels, communication and the
// host on its critical path, each with its own error.
double relative_sigma(const SimulationResult& result, const StepCosts& costs);

}  // namespace orrery
