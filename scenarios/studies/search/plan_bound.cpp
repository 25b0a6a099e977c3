// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/plan_bound.h"

#include <algorithm>

#include "engine/world/rate_alone.h"
#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "models/plan/pipeline_split.h"
#include "models/plan/plan_fields.h"
#include "models/plan/rank_mesh.h"
#include "models/plan/recomputation.h"
#include "models/plan/stage_parties.h"
#include "models/schedule/stage_work.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

// Estimate of the exposed communication: a chunk's first layer waits for its weights, and the last
// bucket of gradients and the first bucket of weights have nothing to hide behind.
Time exposed(const ParallelPlan& plan, const PlanBound::DataTime& data, std::int64_t layers) {
    const std::int64_t chunks = plan.virtual_pipeline_model_parallel_size;
    const auto share = [](Time time, std::int64_t parts) {
        return Time::picoseconds(time.picoseconds() / std::max<std::int64_t>(1, parts));
    };
    if (plan.shards_weights()) {
        return share(data.weights, layers / chunks) + share(data.gradients, layers);
    }
    const bool staged = plan.pipeline_model_parallel_size > 1;
    return share(data.gradients + data.weights, staged ? chunks * 2 : layers);
}

Time difference(Time a, Time b) {
    return std::max(Time{}, a - b);
}
Bytes difference(Bytes a, Bytes b) {
    return std::max(Bytes{}, a - b);
}

Bytes share_of(Bytes bytes, std::int64_t ranks) {
    return Bytes{bytes.count() / ranks};
}

}  // namespace

PlanBound::PlanBound(const Transformer& model, const NetworkModel& network, KernelTimes times)
    : PlanBound(model, network, std::vector{std::move(times)}, StageKinds{}) {}

PlanBound::PlanBound(const Transformer& model,
                     const NetworkModel& network,
                     std::vector<KernelTimes> times,
                     StageKinds stage_kinds)
    : model_(model),
      network_(network),
      times_(std::move(times)),
      stage_kinds_(std::move(stage_kinds)) {}

Time PlanBound::collective_time(const Program& program, const CollectiveCall& call) const {
    const Group& group = program.groups[index(call.group)];
    // Only communication inside a layer counts. Groups over data or pipeline digits have one member
    // here, or no kernel of this layer waits for them.
    const std::vector<RankId> members = program.mesh().members(group, RankId{});
    const bool within = group.subset.empty() && group.explicit_ranks.empty() &&
                        (group.digits >> program.role_digit() & 1) == 0;
    if (!within || members.size() < 2) {
        return {};
    }
    return time_without_contention(network_.plan(call, members), network_.links());
}

// The longest chain of ops from the segment's first kernel to its last. Communication that waits
// for no kernel of the segment may have run before.
Time PlanBound::span(const Program& program,
                     const DeviceTimings& times,
                     const Segment& segment) const {
    struct Done {
        Time end;
        bool after_kernel = false;
    };
    std::vector<Done> done(segment.ops.size());
    std::map<StreamId, Done> stream;
    Time last;
    for (std::size_t i = 0; i < segment.ops.size(); ++i) {
        const Op& op = segment.ops[i];
        Done start = stream[op.stream];
        for (std::uint32_t w = 0; w < op.num_waits; ++w) {
            const Done& before = done[program.waits[op.first_wait + w]];
            start.end = std::max(start.end, before.end);
            start.after_kernel = start.after_kernel || before.after_kernel;
        }
        const bool kernel = op.kind() == OpKind::kernel;
        Time duration;
        if (kernel) {
            duration = times.kernels[index(op.payload.kernel())].duration;
        } else if (op.kind() == OpKind::collective && start.after_kernel) {
            duration = collective_time(program, program.collective(op));
        }
        done[i] = {start.end + duration, start.after_kernel || kernel};
        stream[op.stream] = done[i];
        last = kernel ? std::max(last, done[i].end) : last;
    }
    return last;
}

PlanBound::Cost PlanBound::role_cost(const Program& program,
                                     const DeviceTimings& times,
                                     std::size_t role) const {
    Cost cost;
    for (const Slot& slot : program.roles[role].slots) {
        if (slot.pass == Pass::forward) {
            cost.forward += span(program, times, program.segment_of(slot));
        } else if (slot.pass == Pass::backward) {
            cost.backward += span(program, times, program.segment_of(slot));
        }
    }
    const RoleMemory memory = role_memory(program, to_id<RoleId>(role), Bytes{});
    cost.weights = memory.at_peak[TensorKind::weights];
    cost.gradients = memory.at_peak[TensorKind::gradients];
    cost.optimizer = memory.at_peak[TensorKind::optimizer];
    cost.activations = memory.at_peak[TensorKind::activations];
    return cost;
}

// A plan with two stages of one replica. Plans with equal results have equal Parts.
ParallelPlan PlanBound::plan_of_parts(const ParallelPlan& plan) {
    ParallelPlan small = within(plan, PlanScope::pass);
    small.pipeline_model_parallel_size = 2;
    small.data_parallel_size = 1;
    small.hsdp_shard_size = 0;
    small.zero_hpz_partition_size = 0;
    small.rank_order = ParallelPlan{}.rank_order;
    small.schedule = ScheduleKind::one_f_one_b;
    small.global_batch_size = small.micro_batch_size;
    if (!layers_recompute_alike(plan)) {
        small.recompute_granularity = Recompute::none;  // a lower bound of the time
    }
    return small;
}

PlanBound::Parts PlanBound::measure(const ParallelPlan& small, std::uint32_t kind) const {
    const auto costs = [&](std::int64_t layers, bool window) {
        Transformer model = model_;
        model.num_layers = layers;
        model.sliding_window = window ? model_.sliding_window : 0;
        model.sliding_window_every = 1;
        model.full_attention_every = 0;
        // Takes linear attention where layers alternate: it is the faster kind if sequences are
        // longer than heads.
        model.linear_attention_every = std::min<std::int64_t>(model.linear_attention_every, 1);
        const Program program = lower(model, small);
        const DeviceTimings times = times_[kind](program);
        return std::pair{role_cost(program, times, 0), role_cost(program, times, 1)};
    };
    const auto minus = [](const Cost& a, const Cost& b) {
        return Cost{.forward = difference(a.forward, b.forward),
                    .backward = difference(a.backward, b.backward),
                    .weights = difference(a.weights, b.weights),
                    .gradients = difference(a.gradients, b.gradients),
                    .optimizer = difference(a.optimizer, b.optimizer),
                    .activations = difference(a.activations, b.activations)};
    };
    Parts parts;
    const auto [first_of_2, last_of_2] = costs(2, false);
    const auto [first_of_4, last_of_4] = costs(4, false);
    parts.full_layer = minus(first_of_4, first_of_2);
    parts.first = minus(first_of_2, parts.full_layer);
    parts.last = minus(last_of_2, minus(last_of_4, last_of_2));
    // Embedding and loss keep little between the passes, and their temporary tensors do not count
    // as in flight.
    parts.first.activations = Bytes{};
    parts.last.activations = Bytes{};
    parts.window_layer = parts.full_layer;
    if (model_.sliding_window > 0 && model_.sliding_window < model_.seq_length) {
        parts.window_layer = minus(costs(4, true).first, costs(2, true).first);
    }
    return parts;
}

const PlanBound::Parts& PlanBound::parts(const ParallelPlan& plan, std::uint32_t kind) {
    const std::pair key{plan_of_parts(plan), kind};
    const auto found = cache_.find(key);
    return found != cache_.end() ? found->second
                                 : cache_.emplace(key, measure(key.first, kind)).first->second;
}

std::vector<const PlanBound::Parts*> PlanBound::parts_by_stage(const ParallelPlan& plan) {
    if (!stage_kinds_.several() && plan.stage_tensor_model_parallel_sizes.empty()) {
        return {&parts(plan)};
    }
    std::vector<const Parts*> slowest;
    for (const KindsOfStage& kinds : stage_kinds_.of(plan)) {
        const ParallelPlan own = plan_of_stage(plan, std::ssize(slowest));
        const Parts* most = nullptr;
        for (const std::uint32_t kind : kinds) {
            const Parts& p = parts(own, kind);
            const auto layer = [](const Parts& of) {
                return of.full_layer.forward + of.full_layer.backward;
            };
            most = most == nullptr || layer(p) > layer(*most) ? &p : most;
        }
        slowest.push_back(most);
    }
    return slowest;
}

const std::vector<std::int64_t>& PlanBound::balanced(const ParallelPlan& plan) {
    const std::vector<const Parts*> by_stage = parts_by_stage(plan);
    const std::int64_t stages = plan.pipeline_model_parallel_size;
    const std::int64_t chunks = plan.virtual_pipeline_model_parallel_size;
    const auto [found, fresh] = layouts_.try_emplace({by_stage, stages, chunks});
    if (fresh) {
        const auto seconds = [](const Cost& cost) {
            return (cost.forward + cost.backward).seconds();
        };
        const double layer = seconds(by_stage.front()->full_layer);
        const double first = seconds(by_stage.front()->first);
        const double last = seconds(by_stage.back()->last);
        std::vector<double> layers;
        for (std::size_t s = 0; by_stage.size() > 1 && layer > 0 && s < by_stage.size(); ++s) {
            layers.push_back(seconds(by_stage[s]->full_layer) / layer);
        }
        found->second = balanced_layout(model_.num_layers,
                                        stages,
                                        chunks,
                                        layer > 0 ? first / layer : 0,
                                        layer > 0 ? last / layer : 0,
                                        layers);
    }
    return found->second;
}

const PlanBound::DataState& PlanBound::data_state(const ParallelPlan& plan) {
    // Only the order with the pipeline before the data digits puts other stages between the
    // members.
    const bool apart = plan.rank_order == RankOrder::tp_cp_pp_dp;
    const ParallelPlan ranks{
        .tensor_model_parallel_size = plan.tensor_model_parallel_size,
        .pipeline_model_parallel_size = apart ? plan.pipeline_model_parallel_size : 1,
        .context_parallel_size = plan.context_parallel_size,
        .data_parallel_size = plan.data_parallel_size,
        .data_parallel_sharding_strategy = plan.data_parallel_sharding_strategy,
        .hsdp_shard_size = plan.hsdp_shard_size,
        .zero_hpz_partition_size = plan.zero_hpz_partition_size,
        .reshard_after_forward = plan.reshard_after_forward,
        .rank_order = plan.rank_order};
    const auto [found, fresh] = data_states_.try_emplace(ranks);
    if (fresh) {
        const RankMesh mesh = digits_of_plan(ranks);
        found->second = {.mesh = mesh.mesh, .layouts = state_layouts(ranks, mesh), .times = {}};
    }
    return found->second;
}

// `whole` has the bytes that a rank keeps of a tensor before the data digits shard it.
Time PlanBound::relayout_time(const DataState& state,
                              const Layout& from,
                              const Layout& to,
                              Bytes whole) {
    const auto bytes = [&](const Layout& layout) {
        return local_elements({whole.count()}, layout, state.mesh);
    };
    Time sum;
    for (const RelayoutStep& step : relayout_steps(from, to, bytes)) {
        const auto [found, fresh] =
            state.times.try_emplace({step.step.kind, step.step.digits, step.elements});
        if (fresh && step.elements > 0) {
            const Group group{.digits = step.step.digits};
            const CollectiveCall call{.kind = step.step.kind, .bytes = Bytes{step.elements}};
            found->second = time_without_contention(
                network_.plan(call, state.mesh.members(group, RankId{})), network_.links());
        }
        sum += found->second;
    }
    return sum;
}

PlanBound::DataTime PlanBound::data_time(const ParallelPlan& plan,
                                         const Cost& stage,
                                         std::int64_t layers) {
    const DataState& state = data_state(plan);
    const StateLayouts& held = state.layouts;
    if (!held.by_unit()) {
        // Broadcasts of whole parameters may take less than one gather of all of them.
        return {
            .gradients = relayout_time(state, held.made_gradients, held.gradients, stage.gradients),
            .weights = plan.zero_whole_parameters
                           ? Time{}
                           : relayout_time(state, held.optimizer, held.whole, stage.weights)};
    }
    // Forward and backward passes each gather every unit, the last unit only once. A unit of
    // several layers takes at least as long as their bytes together.
    const std::int64_t unit = std::max<std::int64_t>(1, plan.fsdp_unit_layers);
    const std::int64_t units = std::max<std::int64_t>(1, layers / unit);
    const Cost& layer = parts(plan).full_layer;
    const std::int64_t batches = plan.num_micro_batches();
    const std::int64_t elements = layer.weights.count() / size_bytes(held.weight_dtype);
    const Bytes moved = held.gathered_weights.bytes(elements * unit);
    const Time first = relayout_time(state, held.weights, held.whole, moved);
    const Time again = relayout_time(state, held.secondary_weights, held.whole, moved);
    const Time scatter =
        relayout_time(state, held.made_gradients, held.gradients, layer.gradients * unit);
    return {.gradients = scatter * (units * batches),
            .weights = first * (units * batches) + again * ((units - 1) * batches)};
}

const std::vector<PlanBound::InFlight>& PlanBound::in_flight(const ParallelPlan& plan,
                                                             std::int64_t stage) {
    const ScheduleShape shape{
        .stages = static_cast<std::int32_t>(plan.pipeline_model_parallel_size),
        .chunks = static_cast<std::int32_t>(plan.virtual_pipeline_model_parallel_size),
        .micro_batches = static_cast<std::int32_t>(plan.num_micro_batches()),
        .flushes = static_cast<std::int32_t>(plan.pipeline_flushes)};
    const auto [found, fresh] = in_flight_.try_emplace(
        {plan.schedule, shape.stages, shape.chunks, shape.micro_batches, shape.flushes, stage});
    if (!fresh) {
        return found->second;
    }
    std::vector<InFlight> now(static_cast<std::size_t>(shape.chunks));
    std::int64_t sum = 0;
    std::int64_t most = 0;
    const StageRules rules{.schedule = plan.schedule, .overlap_grad_reduce = true};
    for (const StageWork& work : stage_work(rules, shape, static_cast<std::int32_t>(stage)).work) {
        if (work.task != StageTask::pass && work.task != StageTask::reduce_gradients) {
            continue;
        }
        InFlight& chunk = now[static_cast<std::size_t>(work.item.chunk)];
        if (work.task == StageTask::reduce_gradients) {
            chunk.gradients = false;
        } else if (work.item.pass == Pass::forward) {
            ++chunk.micro_batches;
            if (++sum > most) {
                most = sum;
                found->second = now;
            }
        } else {
            chunk.gradients = chunk.gradients || work.item.pass != Pass::backward_input;
            // The backward of weights still needs some activations. The bound leaves them out.
            if (work.item.pass != Pass::backward_weight) {
                --chunk.micro_batches;
                --sum;
            }
        }
    }
    return found->second;
}

std::vector<PlanBound::Cost> PlanBound::costs_of_places(const ParallelPlan& plan) {
    const std::vector<const Parts*> by_stage = parts_by_stage(plan);
    const std::vector<std::int64_t> layers = layers_of_stages(model_, plan);
    std::vector<Cost> places(layers.size());
    std::int64_t layer = 0;
    for (std::size_t place = 0; place < layers.size(); ++place) {
        const Parts& p = *by_stage[place % by_stage.size()];
        for (std::int64_t i = 0; i < layers[place]; ++i, ++layer) {
            places[place] += model_.layer_has_window(layer) ? p.window_layer : p.full_layer;
        }
    }
    places.front() += by_stage.front()->first;
    places.back() += by_stage.back()->last;
    return places;
}

Bytes PlanBound::memory_of(const ParallelPlan& plan,
                           const std::vector<Cost>& places,
                           std::size_t stage) {
    const auto stages = static_cast<std::size_t>(plan.pipeline_model_parallel_size);
    const std::vector<InFlight>& alive = in_flight(plan, static_cast<std::int64_t>(stage));
    // ZeRO 2 keeps whole gradients only while a chunk's micro-batches add to them.
    const bool while_adding = data_state(plan).layouts.gradient_buffer == Lifetime::step;
    Cost sum;
    Bytes activations;
    for (std::size_t chunk = 0; chunk < alive.size(); ++chunk) {
        Cost place = places[chunk * stages + stage];
        if (layers_recompute_alike(plan)) {
            activations += place.activations * alive[chunk].micro_batches;
        }
        if (while_adding && !alive[chunk].gradients) {
            place.gradients = Bytes{};
        }
        sum += place;
    }
    if (stages == 1 && model_.tied_embeddings) {
        // Tied embeddings: the first and the last of several stages both have a copy, a single
        // stage has one.
        const Parts& p = parts(plan);
        sum.weights -= std::min(p.first.weights, p.last.weights);
        sum.gradients -= std::min(sum.gradients, std::min(p.first.gradients, p.last.gradients));
        sum.optimizer -= std::min(p.first.optimizer, p.last.optimizer);
    }
    const DataState& state = data_state(plan);
    const StateLayouts& held = state.layouts;
    const bool keeps = held.keeps_secondary() || held.keeps_gathered();
    const std::int64_t secondary =
        keeps ? StateLayouts::parts(held.secondary_weights, state.mesh) : 0;
    // A state that lies on the host, wholly or in part, may leave nothing on the device.
    const auto on_device = [](MemoryTier tier, Bytes bytes) {
        return tier == MemoryTier::hbm ? bytes : Bytes{};
    };
    return on_device(held.weights_tier,
                     share_of(sum.weights, StateLayouts::parts(held.weights, state.mesh))) +
           on_device(
               held.gradients_tier,
               share_of(sum.gradients,
                        held.gradients_by_unit() ? StateLayouts::parts(held.gradients, state.mesh)
                                                 : 1)) +
           on_device(held.optimizer_tier,
                     share_of(sum.optimizer, StateLayouts::parts(held.optimizer, state.mesh))) +
           (secondary > 0 ? share_of(sum.weights, secondary) : Bytes{}) + activations;
}

Bound PlanBound::of(const ParallelPlan& plan) {
    const std::vector<Cost> places = costs_of_places(plan);
    const std::vector<std::int64_t> layers = layers_of_stages(model_, plan);
    const auto stages = static_cast<std::size_t>(plan.pipeline_model_parallel_size);
    const bool all_sharded = plan.shards_weights();
    const KindsOfStage first_kinds =
        stage_kinds_.several() ? stage_kinds_.of(plan).front() : KindsOfStage{};
    Bound bound;
    Time fill;
    for (std::size_t s = 0; s < stages; ++s) {
        Cost cost;
        std::int64_t layers_here = 0;
        for (std::size_t place = s; place < places.size(); place += stages) {
            cost += places[place];
            layers_here += layers[place];
        }
        const Time computing = (cost.forward + cost.backward) * plan.num_micro_batches();
        // Groups on other kinds of nodes than the first stage's may be faster.
        const ParallelPlan own = plan_of_stage(plan, static_cast<std::int64_t>(s));
        const bool known = !stage_kinds_.several() || stage_kinds_.of(plan)[s] == first_kinds;
        const DataTime data = known ? data_time(own, cost, layers_here) : DataTime{};
        // Overlap of gradients: with one stage during the last micro-batch's backward pass. With
        // several stages or gathered layers, at best during the whole backward pass.
        Time after = data.gradients;
        if (all_sharded || stages > 1) {
            after = plan.overlap_grad_reduce ? Time{} : data.gradients;
        } else if (plan.overlap_grad_reduce) {
            after = difference(data.gradients, cost.backward);
        }
        const Time busy = fill + computing + after;
        const Time moving = data.gradients + data.weights;
        bound.time = std::max({bound.time, busy, moving});
        bound.guess = std::max({bound.guess, busy + exposed(plan, data, layers_here), moving});
        bound.memory = std::max(bound.memory, memory_of(own, places, s));
        // On the way back a stage computes at least the gradients of its inputs, which are a
        // forward pass's products.
        const Cost& first = places[s];
        fill += first.forward +
                (plan.schedule == ScheduleKind::zero_bubble ? first.forward : first.backward);
    }
    return bound;
}

}  // namespace orrery
