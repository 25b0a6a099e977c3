// SPDX-License-Identifier: Apache-2.0
// What a plan takes at least, in microseconds of computing instead of a simulation: an admissible
// bound on its step time and on its peak memory, so that a search may drop a plan that can't win.
// Time: no stage works faster than its kernels and the communication that they wait for; stage s
// begins after one micro-batch passed the stages before it, and after its last backward the stages
// before it still have theirs (the bubble of Narayanan et al., SC21, section 2.2). Memory: the
// persistent state of the fullest stage, and the activations of as many micro-batches as its
// schedule keeps in flight. Costs of a layer, the embedding and the output layer are taken from
// the very Programs that the lowering makes of two small models.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>

#include "engine/network_model.h"
#include "engine/simulation.h"
#include "models/plan.h"
#include "models/transformer.h"
#include "scenarios/search/plan_space.h"

namespace orrery {

struct Bound {
    Time time;
    Bytes memory;
};

class PlanBound {
public:
    using KernelTimes = std::function<DeviceTimings(const Program&)>;

    // `network` is that of the cluster; both must outlive the bound.
    PlanBound(const Transformer& model, const NetworkModel& network, KernelTimes times);

    Bound of(const ParallelPlan& plan);
    // The layout of StageSplit::balanced by these costs.
    std::vector<std::int64_t> balanced(const ParallelPlan& plan);

private:
    // Of one micro-batch, or of the state that ranks hold.
    struct Cost {
        Time forward;
        Time backward;
        Bytes weights;
        Bytes gradients;
        Bytes optimizer;
        Bytes activations;
    };
    struct Parts {
        Cost full_layer;
        Cost window_layer;
        Cost first;  // embedding
        Cost last;   // final norm, output layer and loss
    };
    using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, Recompute>;

    const Parts& parts(const ParallelPlan& plan);
    Parts measure(const ParallelPlan& plan) const;
    Cost role_cost(const Program& program, const DeviceTimings& times, std::size_t role) const;
    Time span(const Program& program, const DeviceTimings& times, const Segment& segment) const;
    Time collective_time(const Program& program, const CollectiveCall& call) const;

    const Transformer& model_;
    const NetworkModel& network_;
    KernelTimes times_;
    std::map<Key, Parts> cache_;
};

}  // namespace orrery
