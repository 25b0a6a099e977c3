// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/plan_timer.h"

#include <algorithm>
#include <numeric>

#include "models/blocks/repeated_layers.h"
#include "models/lowering/gradient_sync.h"
#include "models/plan/pipeline_split.h"
#include "models/plan/plan_fields.h"
#include "models/plan/rank_mesh.h"
#include "scenarios/studies/search/stage_builder.h"

namespace orrery {
namespace {

// The plan with fixed values for all fields that its chunks' ops do not depend on.
ParallelPlan plan_of_chunks(const ParallelPlan& plan) {
    ParallelPlan chunks = within(plan, PlanScope::chunk);
    // With reduce_scatter, ZeRO 2 executes the ops of ZeRO 1. They differ only in the lifetime of
    // gradients.
    if (plan.reduce_scatter) {
        chunks.data_parallel_sharding_strategy =
            with_equal_layouts(plan.data_parallel_sharding_strategy);
    }
    chunks.schedule = plan.schedule == ScheduleKind::zero_bubble ? ScheduleKind::zero_bubble
                                                                 : ScheduleKind::one_f_one_b;
    return chunks;
}

// The fields on which the order of passes depends. The builder of a step gets only these, so that
// it uses nothing outside the key of its time.
ParallelPlan plan_of_order(const ParallelPlan& plan) {
    return {.virtual_pipeline_model_parallel_size = plan.virtual_pipeline_model_parallel_size,
            .global_batch_size = plan.num_micro_batches(),
            .schedule = plan.schedule,
            .pipeline_flushes = plan.pipeline_flushes,
            .overlap_grad_reduce = plan.overlap_grad_reduce,
            .overlap_param_gather = plan.overlap_param_gather,
            .overlap_p2p = plan.overlap_p2p};
}

}  // namespace

PlanTimer::PlanTimer(const Transformer& model,
                     const NetworkModel& network,
                     KernelTimer kernels,
                     LaunchCost launch,
                     Time restart)
    : model_(model),
      network_(network),
      kernels_(std::move(kernels)),
      launch_(std::move(launch)),
      restart_({PassOp{.is_kernel = false, .duration = restart}}, {}, 0) {}

PlanTimer::Family& PlanTimer::family_of(const ParallelPlan& plan, const LayoutAssignment& layouts) {
    Family& family = families_[plan_of_chunks(plan)];
    if (family.prices == nullptr) {
        const StagePrices* others = prices_.empty() ? nullptr : prices_.begin()->second.get();
        auto& prices = prices_[layouts.mesh];
        if (!prices) {
            prices = std::make_unique<StagePrices>(network_, layouts.mesh, others);
        }
        family.prices = prices.get();
    }
    return family;
}

PlanTimer::ShapeKey PlanTimer::shape_key(const ChunkShape& shape) const {
    return {shape.num_layers,
            shape.has_embedding * 2 + shape.has_head,
            model_.sliding_window > 0 || model_.linear_attention_every > 1 ? shape.first_layer : 0};
}

LoweredChunk& PlanTimer::lowered(const ParallelPlan& plan, const ChunkShape& shape) {
    LoweredKey key{plan_of_passes(plan), shape_key(shape)};
    auto& found = lowered_[key];
    if (!found) {
        LoweredChunk* few = nullptr;
        if (shape.num_layers >= 2 * kFewLayers && layers_are_alike(model_, key.first)) {
            ChunkShape of_few = shape;
            of_few.num_layers = kFewLayers;
            few = &lowered(plan, of_few);
        }
        found = std::make_unique<LoweredChunk>(model_, key.first, shape, kernels_, few);
    }
    return *found;
}

PlanTimer::TimedChunk& PlanTimer::chunk_of(Family& family,
                                           const ParallelPlan& plan,
                                           const LayoutAssignment& layouts,
                                           const ChunkShape& shape) {
    auto& found = family.chunks[shape_key(shape)];
    if (!found) {
        found = std::make_unique<TimedChunk>();
        found->lowered = &lowered(plan, shape);
        found->timing = found->lowered->time(plan, layouts, *family.prices, pool_);
    }
    return *found;
}

const PlanTimer::StepEnd* PlanTimer::end_of(Family& family,
                                            const ParallelPlan& plan,
                                            const LayoutAssignment& layouts,
                                            const std::vector<TimedChunk*>& chunks) {
    const auto [found, fresh] = family.ends.try_emplace(chunks);
    if (fresh) {
        found->second = make_end(plan, layouts, chunks, *family.prices);
    }
    return found->second.get();
}

std::unique_ptr<PlanTimer::StepEnd> PlanTimer::make_end(const ParallelPlan& plan,
                                                        const LayoutAssignment& layouts,
                                                        const std::vector<TimedChunk*>& chunks,
                                                        StagePrices& prices) {
    auto end = std::make_unique<StepEnd>();
    Program program;
    program.parties.front().mesh = layouts.mesh;
    program.parties.front().role_digit = layouts.pipeline_digit;
    ProgramTables tables{program};
    std::vector<Chunk*> last_first;
    for (std::size_t c = chunks.size(); c-- > 0;) {
        last_first.push_back(&chunks[c]->lowered->chunk());
    }
    // Rounding marks the weights, which belong to the chunks' programs, and takes no time.
    ParallelPlan timed = plan;
    timed.bf16_stochastic_round = false;
    const SegmentId id = lower_optimizer(tables, timed, layouts, 0, last_first).first;
    std::vector<Op> ops = program.segments[index(id)].ops;
    // The norm is one kernel, and its sum over the ranks is the barrier. Without other ranks the
    // whole optimizer counts as the norm.
    const auto barrier = std::ranges::find(ops, OpKind::collective, &Op::kind);
    const bool meets = barrier != ops.end();
    const auto place = static_cast<std::size_t>(barrier - ops.begin());
    if (meets && (place != 1 || ops[0].kind() != OpKind::kernel)) {
        return nullptr;
    }
    const std::span<const Op> all = ops;
    const auto begin = static_cast<std::uint32_t>(meets ? place + 1 : ops.size());
    const DeviceTimings device = kernels_(program);
    auto norm = time_segment(program, all.first(place), 0, device, prices);
    auto tail = time_segment(program, all.subspan(begin), begin, device, prices);
    if (!norm || !tail || !norm->is_closed()) {
        return nullptr;
    }
    if (meets) {
        const CollectiveCall& call = program.collective(ops[place]);
        end->barrier = prices.collective(call, program.groups[index(call.group)]);
        if (!end->barrier) {
            return nullptr;
        }
    }
    end->norm = &pool_.pass(std::move(*norm));
    if (tail->size() > 0) {
        end->tail = tail->steady(0).cut.back();
        end->tail_launches = tail->launches();
    }
    return end;
}

tl::expected<PlanTimer::Parts, std::string_view> PlanTimer::parts_of(
    Family& family, const ParallelPlan& plan, const LayoutAssignment& layouts) {
    if (layouts.state.by_unit()) {
        return tl::unexpected(std::string_view{"parameters are gathered layer by layer"});
    }
    if (model_.num_experts > 0) {
        return tl::unexpected(std::string_view{"layers exchange tokens with experts"});
    }
    if (placement_of(plan.schedule) != ChunkPlacement::looping) {
        return tl::unexpected(std::string_view{"micro-batches go both ways"});
    }
    if (plan.vocabulary_parallel) {
        return tl::unexpected(std::string_view{"stages share the loss"});
    }
    if (plan.overlap_param_gather_with_optimizer_step) {
        return tl::unexpected(std::string_view{"steps overlap"});
    }
    const auto stages = static_cast<std::int32_t>(layouts.mesh.size(layouts.pipeline_digit));
    const std::vector<std::int64_t> split = layers_of_stages(model_, plan);
    std::vector<std::int64_t> first(split.size());
    std::exclusive_scan(split.begin(), split.end(), first.begin(), std::int64_t{0});
    Parts parts;
    std::vector<TimedChunk*> of_stage(static_cast<std::size_t>(layouts.chunks));
    for (std::int32_t stage = 0; stage < stages; ++stage) {
        for (std::int32_t c = 0; c < layouts.chunks; ++c) {
            const auto v = static_cast<std::size_t>(c * stages + stage);
            const ChunkShape shape{.stage = stage,
                                   .chunk = c,
                                   .first_layer = first[v],
                                   .num_layers = split[v],
                                   .has_embedding = v == 0,
                                   .has_head = v + 1 == split.size()};
            TimedChunk& chunk = chunk_of(family, plan, layouts, shape);
            if (!chunk.timing) {
                return tl::unexpected(chunk.timing.error());
            }
            of_stage[static_cast<std::size_t>(c)] = &chunk;
        }
        parts.chunks.insert(parts.chunks.end(), of_stage.begin(), of_stage.end());
        parts.ends.push_back(end_of(family, plan, layouts, of_stage));
        if (parts.ends.back() == nullptr) {
            return tl::unexpected(std::string_view{"the end of the step"});
        }
    }
    return parts;
}

// All inputs of a folded step (StageBuilder): plans with equal keys take equally long.
PlanTimer::StepKey PlanTimer::step_key(const ParallelPlan& plan,
                                       const LayoutAssignment& layouts,
                                       const Parts& parts,
                                       StagePrices& prices) const {
    std::vector<std::int64_t> key;
    const auto add = [&](const std::optional<FixedTransfer>& transfer) {
        key.push_back(transfer ? transfer->alone.picoseconds() : -1);
        key.push_back(transfer ? transfer->sms : 0);
    };
    for (const TimedChunk* chunk : parts.chunks) {
        key.push_back(chunk->timing->content);
    }
    const auto stages = static_cast<int>(parts.ends.size());
    for (int stage = 0; stage < stages; ++stage) {
        const StepEnd& end = *parts.ends[static_cast<std::size_t>(stage)];
        key.push_back(reinterpret_cast<std::intptr_t>(end.norm));
        add(end.barrier);
        key.push_back(end.tail.picoseconds());
        key.push_back(end.tail_launches);
        const Bytes message = parts.chunks.front()->timing->message;
        if (stages > 1) {
            add(prices.send(layouts.pipeline_digit, 1, message, stage));
            add(prices.send(layouts.pipeline_digit, -1, message, stage));
        }
    }
    return {plan_of_order(plan), launch_(plan), std::move(key)};
}

PlanTimer::Step PlanTimer::simulate(const ParallelPlan& plan,
                                    const LayoutAssignment& layouts,
                                    const Parts& parts,
                                    StagePrices& prices) {
    FoldedStep step;
    step.meeting_sizes = {0, 0};
    step.launch_cost = launch_(plan);
    const ParallelPlan order = plan_of_order(plan);
    std::map<const PassTiming*, std::uint32_t> numbers;
    const auto chunks = static_cast<std::size_t>(layouts.chunks);
    for (std::size_t stage = 0; stage < parts.ends.size(); ++stage) {
        std::vector<const ChunkTiming*> of_stage;
        for (std::size_t c = 0; c < chunks; ++c) {
            of_stage.push_back(&*parts.chunks[stage * chunks + c]->timing);
        }
        StageBuilder builder{order, layouts, prices, restart_, step, numbers};
        const std::string_view why = builder.build(
            static_cast<std::int32_t>(stage), std::move(of_stage), *parts.ends[stage]);
        if (!why.empty()) {
            return tl::unexpected(why);
        }
    }
    if (const std::optional<Time> period = period_of(step)) {
        return *period;
    }
    return tl::unexpected(std::string_view{"launches bind at the end of the step"});
}

tl::expected<Time, std::string_view> PlanTimer::step_of(const ParallelPlan& plan) {
    if (!plan.stage_tensor_model_parallel_sizes.empty()) {
        return tl::unexpected(std::string_view{"stages have tensor-parallel sizes of their own"});
    }
    if (plan.optimizer_cpu_offload) {
        return tl::unexpected(std::string_view{"the optimizer's state lies on the host"});
    }
    if (plan.param_offload_tier != StateTier::device ||
        plan.grad_offload_tier != StateTier::device) {
        return tl::unexpected(std::string_view{"weights or gradients lie on the host"});
    }
    if (plan.activation_offload_fraction > 0) {
        return tl::unexpected(std::string_view{"inputs of layers lie on the host"});
    }
    if (plan.cpu_offloading_num_layers > 0) {
        return tl::unexpected(std::string_view{"activations of layers lie on the host"});
    }
    const LayoutAssignment layouts = assign_layouts(plan, ranks_of_key_value_head(model_, plan));
    Family& family = family_of(plan, layouts);
    const auto parts = parts_of(family, plan, layouts);
    if (!parts) {
        return tl::unexpected(parts.error());
    }
    const auto [known, fresh] =
        steps_.try_emplace(step_key(plan, layouts, *parts, *family.prices), Time{});
    if (fresh) {
        known->second = simulate(plan, layouts, *parts, *family.prices);
    }
    return known->second;
}

}  // namespace orrery
