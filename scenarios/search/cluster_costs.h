// SPDX-License-Identifier: Apache-2.0
// What kernels and transfers cost on one cluster without contention, for all plans of a search.
// Kernels of one shape are priced once.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "engine/simulation.h"
#include "kernels/cost_model.h"
#include "kernels/efficiency_table.h"
#include "network/nccl_network.h"
#include "scenarios/simulate/step_efficiency.h"

namespace orrery {

// The catalogue's tables that every plan's kernels and step are costed by.
struct CostTables {
    EfficiencyTable curves;
    EfficiencyTable step;

    static Result<CostTables> read();
};

class ClusterCosts {
public:
    // The tables must outlive the costs.
    static Result<std::unique_ptr<ClusterCosts>> make(const ClusterSpec& cluster,
                                                      const DeviceSpec& device,
                                                      const EfficiencyTable& curves,
                                                      const EfficiencyTable& step);

    const NetworkModel& network() const { return network_; }
    Time restart() const { return step_.restart(); }
    Time launch_cost(const ParallelPlan& plan) const { return step_.launch_cost(plan); }
    // Of a device of mean speed.
    DeviceTimings mean_device(const Program& program) const;
    // Of the slowest of all of the cluster's devices.
    DeviceTimings slowest_device(const Program& program) const;

private:
    ClusterCosts(Fabric fabric,
                 const ClusterSpec& cluster,
                 const DeviceSpec& device,
                 const EfficiencyTable& curves,
                 const EfficiencyTable& step);

    DeviceSpec device_;
    NcclNetwork network_;
    CostModel cost_;
    StepEfficiency step_;
    double slowest_ = 1;
    mutable std::mutex mutex_;                                       // guards what follows
    mutable std::map<std::vector<std::int64_t>, KernelTime> known_;  // of the slowest device
};

}  // namespace orrery
