// SPDX-License-Identifier: Apache-2.0
// Lower bounds of a plan's step time and peak memory, in microseconds of computing instead of a
// simulation. A search can therefore drop a plan that cannot win. Time: a stage is not faster than
// its kernels and the communication that they wait for. Stage s begins after one micro-batch has
// passed the earlier stages, and after its last backward pass the earlier stages still have theirs
// (the bubble of Narayanan et al., SC21, section 2.2). Memory: the persistent state of the fullest
// stage, and the activations of the micro-batches that its schedule keeps in flight. Communication
// over the data-parallel group is serial: all of it must fit into the step, and if it does not
// overlap, it adds to the computation. Costs of a layer, the embedding and the output layer come
// from the Programs of two small models.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/program/network_model.h"
#include "engine/world/simulation.h"
#include "models/plan/plan.h"
#include "models/plan/state_layouts.h"
#include "models/transformer/transformer.h"
#include "scenarios/studies/search/plan_space.h"
#include "scenarios/studies/search/stage_kinds.h"

namespace orrery {

struct Bound {
    Time time;
    Bytes memory;
    // An estimate of the time, for the order in which plans are visited: the bound plus the
    // communication that is usually exposed.
    Time guess;
};

class PlanBound {
public:
    using KernelTimes = std::function<DeviceTimings(const Program&)>;

    // Lower bounds of the times of all transfers of a stage's ranks over the data-parallel group in
    // a step: one collective of each kind, or with ZeRO 3 one for each layer.
    struct DataTime {
        Time gradients;
        Time weights;
    };

    // `network` is that of the cluster. Model and network must outlive the bound.
    PlanBound(const Transformer& model, const NetworkModel& network, KernelTimes times);
    // `times` by kind of node. A stage on several kinds has the speed of the slowest.
    PlanBound(const Transformer& model,
              const NetworkModel& network,
              std::vector<KernelTimes> times,
              StageKinds stage_kinds);

    Bound of(const ParallelPlan& plan);
    // The layout of StageSplit::balanced with these costs.
    const std::vector<std::int64_t>& balanced(const ParallelPlan& plan);

private:
    // The cost of one micro-batch, or of the ranks' state.
    struct Cost {
        Time forward;
        Time backward;
        Bytes weights;
        Bytes gradients;
        Bytes optimizer;
        Bytes activations;

        Cost& operator+=(const Cost& other) {
            forward += other.forward;
            backward += other.backward;
            weights += other.weights;
            gradients += other.gradients;
            optimizer += other.optimizer;
            activations += other.activations;
            return *this;
        }
    };
    struct Parts {
        Cost full_layer;
        Cost window_layer;
        Cost first;  // embedding
        Cost last;   // final norm, output layer and loss
    };
    // The content of a stage's chunk at the time at which the stage has most activations.
    struct InFlight {
        std::int64_t micro_batches = 0;
        bool gradients = false;  // weight gradients have been begun, and some are unfinished
    };
    const std::vector<InFlight>& in_flight(const ParallelPlan& plan, std::int64_t stage);

    using FlightKey = std::
        tuple<ScheduleKind, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
    // Collective, digits, bytes.
    using DataKey = std::tuple<CollectiveKind, std::uint32_t, std::int64_t>;
    // The state of weights, gradients and optimizer for plans with the same ranks.
    struct DataState {
        Mesh mesh;
        StateLayouts layouts;
        mutable std::map<DataKey, Time> times;
    };
    using LayoutKey = std::tuple<std::vector<const Parts*>, std::int64_t, std::int64_t>;

    // The plan for the costs of a layer, the embedding and the output layer.
    static ParallelPlan plan_of_parts(const ParallelPlan& plan);
    const Parts& parts(const ParallelPlan& plan, std::uint32_t kind = 0);
    // By stage, for the kind of node on which a layer takes longest; a single entry if there is one
    // kind.
    std::vector<const Parts*> parts_by_stage(const ParallelPlan& plan);
    // By virtual stage, of one micro-batch.
    std::vector<Cost> costs_of_places(const ParallelPlan& plan);
    Bytes memory_of(const ParallelPlan& plan, const std::vector<Cost>& places, std::size_t stage);
    Parts measure(const ParallelPlan& small, std::uint32_t kind) const;
    Cost role_cost(const Program& program, const DeviceTimings& times, std::size_t role) const;
    Time span(const Program& program, const DeviceTimings& times, const Segment& segment) const;
    Time collective_time(const Program& program, const CollectiveCall& call) const;
    DataTime data_time(const ParallelPlan& plan, const Cost& stage, std::int64_t layers);
    const DataState& data_state(const ParallelPlan& plan);
    Time relayout_time(const DataState& state, const Layout& from, const Layout& to, Bytes whole);

    const Transformer& model_;
    const NetworkModel& network_;
    std::vector<KernelTimes> times_;  // by kind of node
    StageKinds stage_kinds_;
    std::map<std::pair<ParallelPlan, std::uint32_t>, Parts> cache_;  // by plan_of_parts, and kind
    std::map<ParallelPlan, DataState> data_states_;
    std::map<FlightKey, std::vector<InFlight>> in_flight_;
    std::map<LayoutKey, std::vector<std::int64_t>> layouts_;
};

}  // namespace orrery
