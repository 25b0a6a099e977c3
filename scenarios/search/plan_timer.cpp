// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/plan_timer.h"

#include <algorithm>

#include "models/gradient_sync.h"
#include "models/pipeline_split.h"
#include "models/rank_mesh.h"
#include "scenarios/search/stage_builder.h"

namespace orrery {
namespace {

// All of a plan that a chunk's ops can depend on: everything but the order of the passes.
std::vector<std::int64_t> key_of(const ParallelPlan& p) {
    return {p.tensor_model_parallel_size,
            p.pipeline_model_parallel_size,
            p.context_parallel_size,
            p.data_parallel_size,
            p.sequence_parallel,
            static_cast<std::int64_t>(p.context_parallel_comm),
            static_cast<std::int64_t>(p.data_parallel_sharding_strategy),
            p.hsdp_shard_size,
            p.micro_batch_size,
            static_cast<std::int64_t>(p.precision),
            static_cast<std::int64_t>(p.recompute_granularity),
            p.schedule == ScheduleKind::zero_bubble,
            static_cast<std::int64_t>(p.rank_order),
            static_cast<std::int64_t>(p.attention_kernel),
            static_cast<std::int64_t>(p.optimizer),
            p.gradient_accumulation_fusion,
            static_cast<std::int64_t>(p.gradient_dtype),
            static_cast<std::int64_t>(p.main_params_dtype),
            p.overlap_grad_reduce,
            p.overlap_param_gather,
            p.tp_comm_overlap,
            p.async_tensor_model_parallel_allreduce,
            p.scatter_gather_tensors_in_pipeline,
            p.tp_comm_overlap_chunks,
            p.fused_norm,
            p.fused_activation,
            p.fused_cross_entropy,
            p.loss_metrics,
            p.prefetch_behind_backward,
            p.compiled,
            p.ddp_bucket_size};
}

std::vector<std::int64_t> mesh_key(const ParallelPlan& p) {
    return {p.tensor_model_parallel_size,
            p.pipeline_model_parallel_size,
            p.context_parallel_size,
            p.data_parallel_size,
            p.hsdp_shard_size,
            static_cast<std::int64_t>(p.rank_order)};
}

}  // namespace

PlanTimer::PlanTimer(const Transformer& model,
                     const NetworkModel& network,
                     KernelTimer kernels,
                     Launch launch)
    : model_(model),
      network_(network),
      kernels_(std::move(kernels)),
      launch_(launch),
      restart_({PassOp{.is_kernel = false, .duration = launch.restart}}, {}, 0) {}

PlanTimer::~PlanTimer() = default;

StagePrices& PlanTimer::prices_of(const ParallelPlan& plan, const LayoutAssignment& layouts) {
    const StagePrices* others = prices_.empty() ? nullptr : prices_.begin()->second.get();
    auto& prices = prices_[mesh_key(plan)];
    if (!prices) {
        prices = std::make_unique<StagePrices>(network_, layouts.mesh, others);
    }
    return *prices;
}

const ChunkTiming* PlanTimer::chunk_of(const ParallelPlan& plan,
                                       const LayoutAssignment& layouts,
                                       const ChunkShape& shape,
                                       StagePrices& prices) {
    Key key = key_of(plan);
    key.push_back(shape.num_layers);
    key.push_back(shape.has_embedding * 2 + shape.has_head);
    key.push_back(model_.sliding_window > 0 ? shape.first_layer : 0);
    const auto [found, fresh] = chunks_.try_emplace(std::move(key));
    if (fresh) {
        found->second = time_chunk(model_, plan, layouts, shape, kernels_, prices);
    }
    if (!found->second) {
        why_ = found->second.error();
        return nullptr;
    }
    return &*found->second;
}

const PlanTimer::StepEnd* PlanTimer::end_of(const ParallelPlan& plan,
                                            const LayoutAssignment& layouts,
                                            const std::vector<const ChunkTiming*>& chunks,
                                            StagePrices& prices) {
    auto& found = ends_[{key_of(plan), chunks}];
    why_ = "the end of the step";
    if (found) {
        return found->fits ? found.get() : nullptr;
    }
    found = std::make_unique<StepEnd>();
    Program program;
    program.mesh = layouts.mesh;
    program.role_axis = layouts.pipeline_axis;
    ProgramTables tables{program};
    std::vector<Chunk*> last_first;
    for (std::size_t c = chunks.size(); c-- > 0;) {
        last_first.push_back(chunks[c]->chunk.get());
    }
    const SegmentId id = lower_optimizer(tables, model_, plan, layouts, 0, last_first);
    std::vector<Op> ops = program.segments[index(id)].ops;
    // The norm is one kernel, and adding it up over the ranks the barrier; where nobody has to be
    // waited for, the whole optimizer takes the norm's place.
    const auto barrier = std::ranges::find(ops, OpKind::collective, &Op::kind);
    const bool meets = barrier != ops.end();
    const auto place = static_cast<std::size_t>(barrier - ops.begin());
    if (meets && (place != 1 || ops[0].kind != OpKind::kernel)) {
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
        const CollectiveCall& call = program.collectives[ops[place].payload];
        found->barrier = prices.collective(call, program.groups[index(call.group)]);
        if (!found->barrier) {
            return nullptr;
        }
    }
    found->norm = std::move(*norm);
    if (tail->size() > 0) {
        found->tail = tail->steady(0).cut.back();
        found->tail_launches = tail->launches();
    }
    found->fits = true;
    return found.get();
}

tl::expected<Time, std::string_view> PlanTimer::step_of(const ParallelPlan& plan) {
    const LayoutAssignment layouts = assign_layouts(plan, ranks_of_key_value_head(model_, plan));
    const auto stages = static_cast<std::int32_t>(layouts.mesh.size(layouts.pipeline_axis));
    StagePrices& prices = prices_of(plan, layouts);
    const std::vector<std::int64_t> split = layers_of_stages(model_, plan);
    FoldedStep step;
    step.meeting_sizes = {0, 0};
    step.launch_cost = plan.cuda_graphs ? launch_.of_graph : launch_.each;
    std::map<const PassTiming*, std::uint32_t> numbers;
    for (std::int32_t stage = 0; stage < stages; ++stage) {
        if (!StageBuilder{*this, plan, layouts, prices, step, numbers}.build(stage, split)) {
            return tl::unexpected(why_);
        }
    }
    if (const std::optional<Time> period = period_of(step)) {
        return *period;
    }
    return tl::unexpected(std::string_view{"launches bind at the end of the step"});
}

}  // namespace orrery
