// SPDX-License-Identifier: Apache-2.0
// Costs of kernels and transfers on one cluster without contention, for all plans of a search.
// Kernels of one shape are priced once.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/world/simulation.h"
#include "kernels/cost_model.h"
#include "kernels/efficiency_table.h"
#include "network/nccl_network.h"
#include "scenarios/studies/simulate/calibrated_network.h"
#include "scenarios/studies/simulate/step_efficiency.h"

namespace orrery {

// The catalogue's tables for the costs of kernels and steps.
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
                                                      const EfficiencyTable& step,
                                                      const std::vector<DeviceSpec>& devices = {});

    const NetworkModel& network() const {
        return calibrated_ ? static_cast<const NetworkModel&>(*calibrated_) : network_;
    }
    // The constant time that a calibration adds to every step.
    Time step() const { return step_; }
    std::size_t num_kinds() const { return kinds_.size(); }
    // The time in which a host of the first kind of nodes resumes launching.
    Time restart() const { return kinds_.front()->step.restart(); }
    Time launch_cost(const ParallelPlan& plan) const {
        return kinds_.front()->step.launch_cost(plan);
    }
    // Timings of a device with the mean speed of the nodes of one kind.
    DeviceTimings mean_device(const Program& program, std::size_t kind = 0) const;
    // Timings of the slowest device of the first kind of nodes.
    DeviceTimings slowest_device(const Program& program) const;

private:
    ClusterCosts(Fabric fabric,
                 const ClusterSpec& cluster,
                 const DeviceSpec& device,
                 const EfficiencyTable& curves,
                 const EfficiencyTable& step,
                 const std::vector<DeviceSpec>& devices);

    // The data of a kind of nodes.
    struct Kind {
        Kind(const DeviceSpec& of, const EfficiencyTable& curves, const EfficiencyTable& step_table)
            : device(of), cost(device, curves), step(step_table, device) {}

        DeviceSpec device;
        CostModel cost;
        StepEfficiency step;
    };

    NcclNetwork network_;
    std::optional<CalibratedNetwork> calibrated_;
    Time step_;
    std::vector<std::unique_ptr<const Kind>> kinds_;
    double slowest_ = 1;
    // Tier, kind, dtype and variant; FLOP, bytes, dimensions.
    using CallKey = std::array<std::int64_t, 9>;
    struct CallHash {
        std::size_t operator()(const CallKey& key) const;
    };
    static CallKey key_of(const KernelCall& call);

    mutable std::mutex mutex_;                                         // guards the members below
    mutable std::unordered_map<CallKey, KernelTime, CallHash> known_;  // of the slowest device
};

}  // namespace orrery
