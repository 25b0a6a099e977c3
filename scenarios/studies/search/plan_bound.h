// SPDX-License-Identifier: Apache-2.0
// What a plan takes at least, in microseconds of computing instead of a simulation: an admissible
// bound on its step time and on its peak memory, so that a search may drop a plan that can't win.
// Time: no stage works faster than its kernels and the communication that they wait for; stage s
// begins after one micro-batch passed the stages before it, and after its last backward the stages
// before it still have theirs (the bubble of Narayanan et al., SC21, section 2.2). Memory: the
// persistent state of the fullest stage, and the activations of as many micro-batches as its
// schedule keeps in flight. Communication over
// the data-parallel group is in order: all of it fits into the step, too, and where it does not
// overlap it adds to the computing. Costs of a layer, the embedding and the output layer are taken
// from the very Programs that the lowering makes of two small models.
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
    // A guess of the time, for the order to look at plans in: the bound and the communication that
    // usually stays exposed.
    Time guess;
};

class PlanBound {
public:
    using KernelTimes = std::function<DeviceTimings(const Program&)>;

    // Times of all that a stage's ranks must move over the data-parallel group in a step: no less
    // than one collective of each kind takes, or with ZeRO 3 a layer at a time.
    struct DataTime {
        Time gradients;
        Time weights;
    };

    // `network` is that of the cluster; both must outlive the bound.
    PlanBound(const Transformer& model, const NetworkModel& network, KernelTimes times);
    // `times` by kind of node. A stage on several kinds goes at the pace of the slowest.
    PlanBound(const Transformer& model,
              const NetworkModel& network,
              std::vector<KernelTimes> times,
              StageKinds stage_kinds);

    Bound of(const ParallelPlan& plan);
    // The layout of StageSplit::balanced by these costs.
    const std::vector<std::int64_t>& balanced(const ParallelPlan& plan);

private:
    // The cost of one micro-batch, or of the state that ranks hold.
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
    // What a chunk of a stage holds when the stage has most activations in all.
    struct InFlight {
        std::int64_t micro_batches = 0;
        bool gradients = false;  // weights' gradients have been begun, and not all are done
    };
    const std::vector<InFlight>& in_flight(const ParallelPlan& plan, std::int64_t stage);

    using FlightKey =
        std::tuple<ScheduleKind, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
    // Collective, digits, bytes.
    using DataKey = std::tuple<CollectiveKind, std::uint32_t, std::int64_t>;
    // How plans of the same ranks hold weights, gradients and optimizer state.
    struct DataState {
        Mesh mesh;
        StateLayouts layouts;
        mutable std::map<DataKey, Time> times;
    };
    using LayoutKey = std::tuple<std::vector<const Parts*>, std::int64_t, std::int64_t>;

    // The plan that a layer, the embedding and the output layer are costed under.
    static ParallelPlan plan_of_parts(const ParallelPlan& plan);
    const Parts& parts(const ParallelPlan& plan, std::uint32_t kind = 0);
    // By stage, on the kind of node where a layer takes longest; one for all stages if there is one
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
