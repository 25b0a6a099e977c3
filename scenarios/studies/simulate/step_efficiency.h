// SPDX-License-Identifier: Apache-2.0
// What separates kernels in a long training step from the same kernels in a benchmark: clocks under
// a sustained load, memory-bound kernels between products, and the slowest of many devices. General
// factors by device generation, in scenarios/catalogue/step_efficiency.csv (the format of
// kernels/efficiency_table.h):
//   sustained.gemm, sustained.attention, sustained.memory   time in a step / time alone; sustained.
//       attention by kernel generation too: sustained.attention.flash_1, and its small_heads (up to
//       64, for which the curves know the CUDA kernel but not the Triton port)
//   sustained.attention.flash_1.growth   g: the factor above holds at 2,048 keys and falls with
//       (keys / 2048)^-g, as these kernels go on gaining where the curves of layers, which were
//       measured up to 16k, are flat
//   noise.sigma    relative standard deviation of a device's speed, over devices of one kind
//   step.residual  relative standard deviation of what remains of a step's time, of a family of
//       steps that the factors were not fitted on, though on others of its software;
//       step.residual.software, on none of its software but on some of its lineage,
//       step.residual.lineage, on none of that either, and step.residual.device, on none of its
//       device generation and element type; step.residual.experts, of a model with experts, which
//       no factor is fitted on
//   step.shift.software, .lineage, .device, .experts  natural logarithm of how many times as long
//       such steps took as predicted, in the median: the spread is around that
//   step.seen.NAME  by generation and element type: families of that software that were fitted on
//   host.restart_us  from the end of an exchange that the host waited for to the next kernel's
//   start
//   host.call  host time of one call of an eager framework in launches of the device from C++: one
//   op of the Program, with all that Python, the framework's module and its autograd do for it
// Factors apply to what the efficiency curves predict; a profile is measured under the user's own
// conditions and is left alone.
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

// What the fitted steps say nothing about: its spread is wider.
enum class Unseen : std::uint8_t { nothing, software, lineage, device, experts };
std::string_view name(Unseen unseen);
// The table's rows of the spread and of the shift: "step.residual.software", "step.shift.software".
std::string residual_name(Unseen unseen);
std::string shift_name(Unseen unseen);

struct StepResidual {
    double sigma = 0;  // relative standard deviation
    Unseen unseen = Unseen::nothing;
    Unseen widest = Unseen::nothing;  // whose spread `sigma` is: the least of what is unseen may be
    // The spread is around the prediction times e^shift: steps that lack as much took that many
    // times as long in the median.
    double shift = 0;
};

// Which steps factors were fitted on: the software that ran them
// (scenarios/studies/simulate/software.h), and the generation and class of element types of its
// devices.
class SeenSteps {
public:
    void add(std::string_view software, std::string_view generation, std::string_view dtype);
    bool empty() const { return steps_.empty(); }
    // What of a step is unseen: its device and element type, else on these the lineage of its
    // software, else the software.
    Unseen step(std::string_view software,
                std::string_view generation,
                std::string_view dtype) const;
    // The same of the software alone, on whatever device.
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
    // The table's row that a kernel's factor is looked up under.
    static std::string_view factor_name(const KernelCall& call);
    // The row of its growth with the keys, which heads of all sizes share.
    static std::string growth_name(std::string_view factor_name);
    // Keys that the kernels' growth with the sequence is counted from.
    static constexpr double kGrowthOrigin = 2048;
    // 1 + sigma * E[max of n standard normals]: devices that wait for each other go at the pace of
    // the slowest (order statistics of a persistent speed per device).
    double slowest_of(std::int64_t num_devices) const;
    // Of a step of this software (see Scenario::software) in this precision. A table that names no
    // software has seen all. `experts`: of a model with experts.
    StepResidual residual(std::string_view software,
                          Dtype precision,
                          bool experts = false) const;
    // Of HostWorkKind::restart. A CPU executes what it launches: none.
    Time restart() const;
    // Host time of one op under the plan: replayed from a CUDA graph, called by an eager framework,
    // or launched from C++ (a compiled step, llm.c, Orrery's runtime).
    Time launch_cost(const ParallelPlan& plan) const;
    // Its relative standard deviation over frameworks' versions and servers; 0 where it is known.
    double launch_sigma(const ParallelPlan& plan) const;

private:
    void widen(StepResidual& residual, Unseen unseen) const;
    // The row of a call, if the plan's ops are calls of a framework.
    const EfficiencyParameter* call_of(const ParallelPlan& plan) const;

    const EfficiencyTable& table_;
    const DeviceSpec& device_;
};

// E[max] of n independent standard normals (Blom's approximation, Statistical Estimates and
// Transformed Beta-Variables, 1958; within 5 %, and within 1 % for n >= 8).
double expected_maximum_of_normals(std::int64_t n);

// 1 + slowdown * P(at least one of n servers is slow): all servers wait for the slow one.
double slowest_server(double slow_share, double slowdown, std::int64_t num_servers);

}  // namespace orrery
