// SPDX-License-Identifier: Apache-2.0
// A PlanTimer with all that it rests on, for a scenario's model and cluster.
#pragma once

#include <memory>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/search/cluster_costs.h"
#include "scenarios/studies/search/plan_timer.h"

namespace orrery::testing {

inline EfficiencyTable catalogue_table(const char* file) {
    return *read_efficiency_table((default_catalogue() / file).string());
}

// The scenario must outlive it.
struct TimedPlans {
    explicit TimedPlans(const Scenario& scenario)
        : curves(catalogue_table("kernel_efficiency.csv")),
          step(catalogue_table("step_efficiency.csv")),
          costs(*ClusterCosts::make(scenario.cluster, scenario.device, curves, step)),
          timer(
              scenario.model,
              costs->network(),
              [this](const Program& program) { return costs->slowest_device(program); },
              [this](const ParallelPlan& plan) { return costs->launch_cost(plan); },
              costs->restart()) {}

    EfficiencyTable curves;
    EfficiencyTable step;
    std::unique_ptr<ClusterCosts> costs;
    PlanTimer timer;
};

}  // namespace orrery::testing
