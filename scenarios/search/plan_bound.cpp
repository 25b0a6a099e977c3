// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/plan_bound.h"

#include <algorithm>

#include "models/lowering.h"
#include "models/memory.h"
#include "models/pipeline_split.h"

namespace orrery {
namespace {

Time time_of(const TransferPlan& plan, std::span<const LinkInfo> links) {
    Time sum;
    for (const TransferPhase& phase : plan.phases) {
        Time longest;
        for (const TransferPart& part : phase.parts) {
            Bandwidth rate = part.rate_max;
            for (const LinkShare& share : part.footprint) {
                const Bandwidth capacity = links[index(share.link)].capacity;
                rate = std::min(
                    rate, Bandwidth::bits_per_second(capacity.bits_per_second() / share.count));
            }
            longest = std::max(longest, part.bytes / rate);
        }
        sum += phase.latency + longest;
    }
    return sum;
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
    : model_(model), network_(network), times_(std::move(times)) {}

Time PlanBound::collective_time(const Program& program, const CollectiveCall& call) const {
    const Group& group = program.groups[index(call.group)];
    // Only what stays inside a layer: groups over data or pipeline axes have one member here, or
    // are not what a kernel of this layer waits for.
    const std::vector<RankId> members = program.mesh.members(group, RankId{});
    const bool within = group.subset.empty() && group.explicit_ranks.empty() &&
                        (group.axes >> program.role_axis & 1) == 0;
    if (!within || members.size() < 2) {
        return {};
    }
    return time_of(network_.plan_collective(call, members), network_.links());
}

// The longest chain of ops from the segment's first kernel to its last. Communication that waits
// for no kernel of the segment may have gone on before it.
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
        const bool kernel = op.kind == OpKind::kernel;
        Time duration;
        if (kernel) {
            duration = times.kernels[op.payload].duration;
        } else if (op.kind == OpKind::collective && start.after_kernel) {
            duration = collective_time(program, program.collectives[op.payload]);
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

PlanBound::Parts PlanBound::measure(const ParallelPlan& plan) const {
    ParallelPlan small = plan;
    small.pipeline_model_parallel_size = 2;
    small.virtual_pipeline_model_parallel_size = 1;
    small.schedule = ScheduleKind::one_f_one_b;
    small.data_parallel_size = 1;
    small.data_parallel_sharding_strategy = ShardingStrategy::no_shard;
    small.hsdp_shard_size = 0;
    small.overlap_grad_reduce = false;
    small.overlap_param_gather = false;
    small.global_batch_size = small.micro_batch_size;
    small.embedding_and_loss_as_layers = false;
    small.pipeline_layout.clear();
    const auto costs = [&](std::int64_t layers, bool window) {
        Transformer model = model_;
        model.num_layers = layers;
        model.sliding_window = window ? model_.sliding_window : 0;
        model.sliding_window_every = 1;
        const Program program = lower(model, small);
        const DeviceTimings times = times_(program);
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
    parts.window_layer = parts.full_layer;
    if (model_.sliding_window > 0 && model_.sliding_window < model_.seq_length) {
        parts.window_layer = minus(costs(4, true).first, costs(2, true).first);
    }
    return parts;
}

const PlanBound::Parts& PlanBound::parts(const ParallelPlan& plan) {
    const Key key{plan.tensor_model_parallel_size,
                  plan.context_parallel_size,
                  plan.micro_batch_size,
                  plan.sequence_parallel,
                  plan.tp_comm_overlap,
                  plan.recompute_granularity};
    const auto found = cache_.find(key);
    return found != cache_.end() ? found->second : cache_.emplace(key, measure(plan)).first->second;
}

std::vector<std::int64_t> PlanBound::balanced(const ParallelPlan& plan) {
    const Parts& p = parts(plan);
    const double layer = (p.full_layer.forward + p.full_layer.backward).seconds();
    const double first = (p.first.forward + p.first.backward).seconds();
    const double last = (p.last.forward + p.last.backward).seconds();
    return balanced_layout(model_.num_layers,
                           plan.pipeline_model_parallel_size,
                           plan.virtual_pipeline_model_parallel_size,
                           layer > 0 ? first / layer : 0,
                           layer > 0 ? last / layer : 0);
}

Bound PlanBound::of(const ParallelPlan& plan) {
    const Parts& p = parts(plan);
    const std::vector<std::int64_t> layers = layers_of_stages(model_, plan);
    const auto stages = static_cast<std::size_t>(plan.pipeline_model_parallel_size);
    std::vector<Cost> of_stage(stages);
    std::vector<Cost> first_chunk(stages);
    std::int64_t layer = 0;
    const auto add = [](Cost& sum, const Cost& cost) {
        sum.forward += cost.forward;
        sum.backward += cost.backward;
        sum.weights += cost.weights;
        sum.gradients += cost.gradients;
        sum.optimizer += cost.optimizer;
        sum.activations += cost.activations;
    };
    for (std::size_t place = 0; place < layers.size(); ++place) {
        Cost chunk;
        for (std::int64_t i = 0; i < layers[place]; ++i, ++layer) {
            add(chunk, model_.layer_has_window(layer) ? p.window_layer : p.full_layer);
        }
        if (place == 0) {
            add(chunk, p.first);
        }
        if (place + 1 == layers.size()) {
            add(chunk, p.last);
        }
        add(of_stage[place % stages], chunk);
        if (place < stages) {
            first_chunk[place] = chunk;
        }
    }
    const std::int64_t micro_batches = plan.num_micro_batches();
    const std::int64_t shard = plan.hsdp_shard_size > 0
                                   ? plan.hsdp_shard_size
                                   : plan.data_parallel_size * plan.context_parallel_size;
    const ShardingStrategy strategy = plan.data_parallel_sharding_strategy;
    const bool all_in_flight = plan.schedule == ScheduleKind::gpipe;
    const bool split_backward = plan.schedule == ScheduleKind::zero_bubble;
    Bound bound;
    Time fill;
    for (std::size_t s = 0; s < stages; ++s) {
        const Cost& cost = of_stage[s];
        bound.time = std::max(bound.time, fill + (cost.forward + cost.backward) * micro_batches);
        // On the way back at least the gradients of the inputs, a forward pass's products.
        fill += first_chunk[s].forward +
                (split_backward ? first_chunk[s].forward : first_chunk[s].backward);
        const std::int64_t left = static_cast<std::int64_t>(stages - s);
        const std::int64_t in_flight =
            all_in_flight ? micro_batches : std::min(micro_batches, left);
        const Bytes memory =
            (strategy == ShardingStrategy::optim_grads_params
                 ? share_of(cost.weights + cost.gradients, shard)
                 : cost.weights + cost.gradients) +
            (strategy == ShardingStrategy::no_shard ? cost.optimizer
                                                    : share_of(cost.optimizer, shard)) +
            cost.activations * in_flight;
        bound.memory = std::max(bound.memory, memory);
    }
    return bound;
}

}  // namespace orrery
