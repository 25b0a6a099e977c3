// SPDX-License-Identifier: Apache-2.0
// The difference between kernels in a long training step and the same kernels in a benchmark:
// clocks under a sustained load, memory-bound kernels between products, and the slowest of many
// devices. The general factors by device generation are in scenarios/catalogue/step_efficiency.csv
// (in the format of kernels/efficiency_table.h):
//   sustained.gemm, sustained.attention, sustained.memory   time in a step / time alone
//   sustained.attention.flash_1   the same for one kernel generation; small_heads below it is for
//       heads of up to 64 (the curves know the CUDA kernel but not the Triton port)
//   sustained.attention.flash_1.growth   g: the factor above holds at 2,048 keys and falls with
//       (keys / 2048)^-g, because these kernels still gain where the curves, which were measured up
//       to 16k, are flat
//   noise.sigma    relative standard deviation of a device's speed, over devices of one kind
//   step.residual  relative standard deviation of the remaining error of a step's time, for
//       families on which the factors were not fitted, though on others of their software;
//       step.residual.software: fitted on no family of the software, but on some of its lineage;
//       step.residual.lineage: on none of the lineage; step.residual.device: on none of the device
//       generation and element type; step.residual.experts: for models with experts, on which no
//       factor is fitted
//   step.shift.software, .lineage, .device, .experts  natural logarithm of the median ratio of
//       measured to predicted time of such steps; the spread is around it
//   step.seen.NAME  by generation and element type: number of fitted families of that software
//   host.restart_us  from the end of an exchange that the host waited for to the next kernel's
//       start
//   host.call  host time of one call of an eager framework, in units of a launch from C++: one
//       op of the Program, with the work of Python, the framework's module and its autograd
// Factors apply to predictions of the efficiency curves. A profile is measured under the user's own
// conditions and is not changed.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/device_spec.h"
#include "kernels/efficiency_table.h"
#include "models/plan/plan.h"

namespace orrery {

// The property of a step that the fitted steps do not cover. Its spread is wider.
enum class Unseen : std::uint8_t { nothing, software, lineage, device, experts };
std::string_view name(Unseen unseen);
// The table's rows of the spread and of the shift: "step.residual.software", "step.shift.software".
std::string residual_name(Unseen unseen);
std::string shift_name(Unseen unseen);

struct StepResidual {
    double sigma = 0;  // relative standard deviation
    Unseen unseen = Unseen::nothing;
    Unseen widest = Unseen::nothing;  // the uncovered property with the spread `sigma`
    // The spread is around the prediction times e^shift, the median ratio of measured to predicted
    // time for steps with the same uncovered property.
    double shift = 0;
};

// The steps on which factors were fitted: their software (scenarios/studies/simulate/software.h),
// and the generation and class of element types of their devices.
class SeenSteps {
public:
    void add(std::string_view software, std::string_view generation, std::string_view dtype);
    bool empty() const { return steps_.empty(); }
    // The uncovered property of a step: its device and element type; if these are covered, the
    // lineage of its software; else the software.
    Unseen step(std::string_view software,
                std::string_view generation,
                std::string_view dtype) const;
    // The same for the software alone, on any device.
    Unseen software(std::string_view software) const;

private:
    using Steps = std::set<std::pair<std::string, std::string>>;  // device, software
    static Unseen among(Steps::const_iterator first,
                        Steps::const_iterator last,
                        std::string_view stack);

    Steps steps_;
};

class StepEfficiency {
public:
    StepEfficiency(const EfficiencyTable& table, const DeviceSpec& device)
        : table_(table), device_(device) {}

    double factor(const KernelCall& call) const;
    // The table's row with a kernel's factor.
    static std::string_view factor_name(const KernelCall& call);
    // The row of the factor's growth with the keys, which is common to heads of all sizes.
    static std::string growth_name(std::string_view factor_name);
    // The number of keys at which the growth begins.
    static constexpr double kGrowthOrigin = 2048;
    // 1 + sigma * E[max of n standard normals]: devices that wait for each other have the speed of
    // the slowest (order statistics of a persistent speed of each device).
    double slowest_of(std::int64_t num_devices) const;
    // The residual of a step of this software (Scenario::software) in this precision. A table
    // without names of software covers all software. `experts`: for a model with experts.
    StepResidual residual(std::string_view software,
                          Dtype precision,
                          bool experts = false) const;
    // The time of HostWorkKind::restart. Zero for a CPU, which executes directly.
    Time restart() const;
    // The host time of one op under the plan: replayed from a CUDA graph, called by an eager
    // framework, or launched from C++ (a compiled step, llm.c, Orrery's runtime).
    Time launch_cost(const ParallelPlan& plan) const;
    // Its relative standard deviation over versions of frameworks and servers; 0 if it is known.
    double launch_sigma(const ParallelPlan& plan) const;

private:
    void widen(StepResidual& residual, Unseen unseen) const;
    // The row of a call, if the plan's ops are calls of a framework; else null.
    const EfficiencyParameter* call_of(const ParallelPlan& plan) const;

    const EfficiencyTable& table_;
    const DeviceSpec& device_;
};

// E[max] of n independent standard normals (Blom's approximation, Statistical Estimates and
// Transformed Beta-Variables, 1958; within 5 %, and within 1 % for n >= 8).
double expected_maximum_of_normals(std::int64_t n);

// 1 + slowdown * P(at least one of n servers is slow), because all servers wait for the slow one.
double slowest_server(double slow_share, double slowdown, std::int64_t num_servers);

}  // namespace orrery
