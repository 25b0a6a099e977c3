// SPDX-License-Identifier: Apache-2.0
#include "models/lowering/gradient_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "kernels/cast/cast.h"
#include "kernels/device_spec.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

// Megatron-LM's bucket size when the reduction overlaps: max(40M, 1M * data-parallel size).
constexpr std::int64_t kBucketElementsMin = 40'000'000;
constexpr std::int64_t kBucketElementsPerRank = 1'000'000;

// The digits outside the data digits along which a gradient is a partial sum: those of norms with
// sequence parallelism.
std::uint32_t model_partial_digits(const Parameter& p, const StateLayouts& state) {
    return digits_with(p.gradient_layout, Placement::partial) & ~state.data_digits;
}

// The collectives between two layouts of `elements` contiguous elements.
struct Move {
    std::string_view name;
    Traffic traffic = Traffic::data;
    Layout from{};
    Layout to{};
    std::int64_t elements = 0;  // of a rank, before data-parallel sharding
    Dtype dtype = Dtype::fp32;
};

void append(SegmentBuilder& ops, const Mesh& mesh, const Move& move, OpSpec operands) {
    operands.name = std::string{move.name};
    const auto elements = [&](const Layout& layout) {
        return local_elements({move.elements}, layout, mesh);
    };
    for (const RelayoutStep& step : relayout_steps(move.from, move.to, elements)) {
        emit(ops, step, {.traffic = move.traffic, .wire = move.dtype}, operands);
    }
}

}  // namespace

std::vector<Bucket> make_buckets(Chunk& chunk,
                                 const ParallelPlan& plan,
                                 const LayoutAssignment& layouts,
                                 BucketsOf what) {
    // Megatron-LM makes one bucket of each chunk if it gathers all weights of a chunk at once.
    const bool overlaps = (plan.overlap_grad_reduce || plan.overlap_param_gather) &&
                          !plan.overlap_param_gather_with_optimizer_step;
    std::vector<Parameter*> order = chunk.parameters();
    std::reverse(order.begin(), order.end());
    std::vector<Bucket> buckets;
    // Experts have buckets of their own. A bucket's position is that of its last gradient.
    std::array<Bucket, 2> open;
    const auto close = [&](Bucket& bucket) {
        if (!bucket.parameters.empty()) {
            buckets.push_back(std::exchange(bucket, {}));
        }
    };
    for (Parameter* p : order) {
        const StateLayouts& state = state_of(layouts, *p);
        if (what == BucketsOf::weights ? state.by_unit() : state.gradients_by_unit()) {
            continue;  // reduced in the passes
        }
        Bucket& bucket = open[p->of_experts() ? 1 : 0];
        const std::int64_t size =
            plan.ddp_bucket_size != 0
                ? plan.ddp_bucket_size
                : std::max<std::int64_t>(
                      kBucketElementsMin,
                      kBucketElementsPerRank * layouts.mesh.combined_size(state.data_digits));
        if (overlaps && bucket.elements >= size) {
            close(bucket);
        }
        bucket.parameters.push_back(p);
        bucket.elements += p->elements;
    }
    close(open[1]);
    close(open[0]);
    return buckets;
}

namespace {

OpSpec spec_of(Cause cause) {
    return {.name = {}, .cause = cause, .reads = {}, .writes = {}, .accumulates = {}};
}

// The copy of a bucket into a buffer of the shorter type, or back.
void cast_bucket(SegmentBuilder& ops, const Bucket& bucket, Dtype from, Dtype to, OpSpec spec) {
    spec.name = "gradient cast";
    spec.cause = Cause::memory_bound_kernels;
    ops.kernel(cast(bucket.elements, from, to), spec);
}

// The gradients of a bucket in the type of their reduction: the copy lies beside them until it is
// cast back (DeepSpeed's allreduce_bucket, tensor.to(communication_data_type)).
TensorId bucket_on_wire(SegmentBuilder& ops, const Bucket& bucket, const StateLayouts& state) {
    return ops.tables().communication_buffer(
        "gradients in the reduction's type", state.gradient_wire, state.whole, bucket.elements);
}

// The 16-bit gradients of the last pass, which only the next backward pass frees
// (plan.clear_lp_grads).
std::vector<TensorId> kept_gradients(const Program& program,
                                     const ParallelPlan& plan,
                                     const Chunk& chunk) {
    if (plan.clear_lp_grads) {
        return {};
    }
    std::set<TensorId> kept;
    const Segment& made_by =
        program.segments[index(chunk.splits_backward ? chunk.backward_weight : chunk.backward)];
    for (const Op& op : made_by.ops) {
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const TensorId id = program.operands[op.first_operand + i].tensor;
            const Tensor& tensor = program.tensors[index(id)];
            if (tensor.kind == TensorKind::gradients && tensor.lifetime == Lifetime::step) {
                kept.insert(id);
            }
        }
    }
    return {kept.begin(), kept.end()};
}

void reduce_gradients(SegmentBuilder& ops,
                      const std::vector<Bucket>& buckets,
                      const std::vector<TensorId>& kept,
                      const LayoutAssignment& layouts) {
    for (const Bucket& bucket : buckets) {
        const StateLayouts& state = state_of(layouts, *bucket.parameters.front());
        OpSpec spec = spec_of(Cause::exposed_data);
        std::vector<TensorId> gradients;
        for (const Parameter* p : bucket.parameters) {
            gradients.push_back(p->gradient);
        }
        spec.accumulates = gradients;
        const bool casts = state.gradient_dtype != state.gradient_wire;
        if (casts) {
            OpSpec there = spec_of(Cause::memory_bound_kernels);
            there.reads = gradients;
            there.writes = {bucket_on_wire(ops, bucket, state)};
            cast_bucket(ops, bucket, state.gradient_dtype, state.gradient_wire, there);
            spec.accumulates = there.writes;
        }
        append(ops,
               layouts.mesh,
               {.name = "gradient reduce",
                .from = state.made_gradients,
                .to = state.gradients,
                .elements = bucket.elements,
                .dtype = state.gradient_wire},
               spec);
        if (casts) {
            OpSpec back = spec_of(Cause::memory_bound_kernels);
            back.reads = spec.accumulates;
            back.reads.insert(back.reads.end(), kept.begin(), kept.end());
            back.accumulates = gradients;
            cast_bucket(ops, bucket, state.gradient_wire, state.gradient_dtype, back);
        }
    }
}

// InternEvo's _reduce_and_copy (solver/optimizer/hybrid_zero_optim.py): torch.cat of a bucket's
// gradients before its reduction, and copy_ of each gradient after it. The kernels of a bucket come
// between those of the backward pass and wait for nothing but the bucket before. Here they follow
// the pass, which takes as long. Only the last bucket is copied back after the last reduction.
void copy_buckets(SegmentBuilder& ops,
                  const std::vector<Bucket>& buckets,
                  const LayoutAssignment& layouts) {
    for (const char* name : {"gradients into buckets", "gradients out of buckets"}) {
        for (const Bucket& bucket : buckets) {
            const StateLayouts& state = state_of(layouts, *bucket.parameters.front());
            if (layouts.mesh.combined_size(state.data_digits) == 1) {
                continue;
            }
            OpSpec spec = spec_of(Cause::memory_bound_kernels);
            spec.name = name;
            if (&bucket == &buckets.back() && spec.name == "gradients out of buckets") {
                for (const Parameter* p : bucket.parameters) {
                    spec.accumulates.push_back(p->gradient);
                }
            }
            ops.kernel(cast(bucket.elements, state.gradient_dtype, state.gradient_dtype), spec);
        }
    }
}

// The parameters of each owner (plan.zero_whole_parameters). Ranks take consecutive parameters; the
// one that exceeds a rank's share by a hundredth goes to the next rank and does not count there
// (InternEvo, ParamBcastSyncHandler in solver/optimizer/utils.py). One rank sends nothing.
std::vector<Bucket> owned_parameters(const Bucket& bucket, std::int64_t ranks) {
    if (ranks == 1) {
        return {};
    }
    std::vector<Bucket> owned(1);
    std::int64_t counted = 0;
    for (Parameter* p : bucket.parameters) {
        counted += p->elements;
        if (100 * counted * ranks > 101 * bucket.elements && std::ssize(owned) < ranks) {
            owned.emplace_back();
            counted = 0;
        }
        owned.back().parameters.push_back(p);
        owned.back().elements += p->elements;
    }
    std::erase_if(owned, [](const Bucket& part) { return part.parameters.empty(); });
    return owned;
}

void broadcast_parameters(SegmentBuilder& ops,
                          const std::vector<Bucket>& buckets,
                          const LayoutAssignment& layouts) {
    // In the order of the forward pass, which buckets reverse. Experts are apart, as in buckets.
    std::array<Bucket, 2> all;
    for (const Bucket& bucket : buckets) {
        Bucket& of = all[bucket.parameters.front()->of_experts() ? 1 : 0];
        of.parameters.insert(
            of.parameters.end(), bucket.parameters.rbegin(), bucket.parameters.rend());
        of.elements += bucket.elements;
    }
    for (const Bucket& shared : all) {
        if (shared.parameters.empty()) {
            continue;
        }
        const StateLayouts& state = state_of(layouts, *shared.parameters.front());
        const std::uint32_t digits = digits_with(state.optimizer, Placement::flat);
        const std::int64_t ranks = layouts.mesh.combined_size(digits);
        for (const Bucket& part : owned_parameters(shared, ranks)) {
            OpSpec spec = spec_of(Cause::exposed_data);
            spec.name = "parameter broadcast";
            for (const Parameter* p : part.parameters) {
                spec.writes.push_back(p->weight);
            }
            emit(ops,
                 {.step = {.kind = CollectiveKind::broadcast, .digits = digits},
                  .to = {},
                  .elements = part.elements},
                 {.traffic = Traffic::data, .wire = state.gathered_weights.dtype},
                 std::move(spec));
        }
    }
}

void gather_parameters(SegmentBuilder& ops,
                       const std::vector<Bucket>& buckets,
                       const LayoutAssignment& layouts) {
    for (const Bucket& bucket : buckets) {
        const StateLayouts& state = state_of(layouts, *bucket.parameters.front());
        const std::int64_t parts = StateLayouts::parts(state.optimizer, layouts.mesh);
        OpSpec spec = spec_of(Cause::exposed_data);
        for (const Parameter* p : bucket.parameters) {
            spec.writes.push_back(p->weight);
        }
        append(ops,
               layouts.mesh,
               {.name = "parameter gather",
                .from = state.optimizer,
                .to = state.whole,
                // All shards are equally long; the last one is padded.
                .elements = (bucket.elements + parts - 1) / parts * parts,
                .dtype = state.gathered_weights.dtype},
               spec);
    }
}

// nanotron (distributed.py, all_gather_coalesced; optim/zero.py, _all_gather_params): the weights
// are flattened into a buffer for each rank, PyTorch's list form of all_gather copies its own
// buffer into those, and a loop of the host copies each part of each parameter back: narrow, view
// and copy_. The loop that makes the views before the gather runs while gradients are reduced.
void copy_gathered(SegmentBuilder& ops,
                   const std::vector<Bucket>& buckets,
                   const LayoutAssignment& layouts) {
    constexpr int kCopies = 3;
    constexpr std::int64_t kOperatorsOfPart = 3;
    for (const Bucket& bucket : buckets) {
        const StateLayouts& state = state_of(layouts, *bucket.parameters.front());
        const std::int64_t ranks = StateLayouts::parts(state.optimizer, layouts.mesh);
        if (ranks == 1) {
            continue;
        }
        OpSpec spec = spec_of(Cause::memory_bound_kernels);
        spec.name = "weights copy out";
        for (const Parameter* p : bucket.parameters) {
            spec.accumulates.push_back(p->weight);
        }
        for (int copy = 0; copy < kCopies; ++copy) {
            ops.kernel(cast(bucket.elements, state.weight_dtype, state.weight_dtype), spec);
        }
        spec.name = "weights in parts";
        spec.cause = Cause::host;
        spec.launches = 0;
        const std::int64_t parts = ranks * std::ssize(bucket.parameters);
        ops.host({.duration = kEagerOperator * (kOperatorsOfPart * parts)}, spec);
    }
}

// Reduces norms and biases of which each rank of the sequence-parallel group has a partial sum. As
// in Megatron-LM's finalize_model_grads, it comes after the buckets on their stream. It waits for
// the chunk's first layer, which the buckets must not do.
void reduce_model_partials(SegmentBuilder& ops, Chunk& chunk, const LayoutAssignment& layouts) {
    std::int64_t elements = 0;
    std::uint32_t digits = 0;
    OpSpec spec = spec_of(Cause::exposed_tensor);
    for (const Parameter* p : chunk.parameters()) {
        const std::uint32_t partial_digits = model_partial_digits(*p, state_of(layouts, *p));
        if (partial_digits != 0) {
            const Tensor& kept = ops.tables().program().tensors[index(p->gradient_shard)];
            digits |= partial_digits;
            elements += kept.bytes.count() / size_bytes(kept.dtype);
            spec.accumulates.push_back(p->gradient_shard);
        }
    }
    append(ops,
           layouts.mesh,
           {.name = "sequence-parallel gradient reduce",
            .traffic = Traffic::norm_gradient,
            .from = along(layouts.mesh, digits, partial()),
            .to = layouts.state.whole,
            .elements = elements,
            .dtype = layouts.state.gradient_dtype},
           spec);
}

}  // namespace

SyncSegments lower_sync(ProgramTables& tables,
                        const ParallelPlan& plan,
                        const LayoutAssignment& layouts,
                        Chunk& chunk) {
    SyncSegments result;
    const std::string where =
        fmt::format("stage {} chunk {} ", chunk.shape.stage, chunk.shape.chunk);
    SegmentBuilder gradients{tables, where + "gradient sync"};
    SegmentBuilder parameters{tables, where + "parameter sync"};
    const std::vector<Bucket> reduced = make_buckets(chunk, plan, layouts);
    reduce_gradients(gradients, reduced, kept_gradients(tables.program(), plan, chunk), layouts);
    if (plan.gradient_bucket_copies) {
        copy_buckets(gradients, reduced, layouts);
    }
    // The forward pass needs the first layers first.
    std::vector<Bucket> buckets = make_buckets(chunk, plan, layouts, BucketsOf::weights);
    std::reverse(buckets.begin(), buckets.end());
    if (plan.zero_whole_parameters) {
        broadcast_parameters(parameters, buckets, layouts);
    } else {
        gather_parameters(parameters, buckets, layouts);
        if (plan.zero_copies_parts) {
            copy_gathered(parameters, buckets, layouts);
        }
    }
    reduce_model_partials(gradients, chunk, layouts);
    if (gradients.size() > 0) {
        result.gradients = gradients.finish();
    }
    if (parameters.size() > 0) {
        result.parameters = parameters.finish();
    }
    return result;
}

SegmentId lower_tied_embedding_sync(ProgramTables& tables,
                                    const LayoutAssignment& layouts,
                                    const Chunk& chunk) {
    const Parameter& copy = chunk.shape.has_embedding ? chunk.embedding : chunk.output;
    SegmentBuilder b{tables, "tied embedding gradient"};
    // The whole gradient, even if each data rank has reduced only its shard (like Megatron-LM),
    // unless only the shard persists.
    const Tensor& summed = tables.program().tensors[index(copy.gradient_shard)];
    const std::uint32_t stages = layouts.mesh.size(layouts.pipeline_digit);
    emit(b,
         {.step = {.kind = CollectiveKind::all_reduce, .digits = 1u << layouts.pipeline_digit},
          .to = {},
          .elements = summed.bytes.count() / size_bytes(summed.dtype)},
         {.traffic = Traffic::tied_gradient, .wire = summed.dtype, .subset = {0u, stages - 1}},
         {.name = "tied embedding gradient reduce",
          .reads = {},
          .writes = {},
          .accumulates = {copy.gradient_shard}});
    return b.finish();
}

SegmentId lower_copies_sync(ProgramTables& tables, const LayoutAssignment& layouts, Chunk& chunk) {
    SegmentBuilder b{
        tables,
        fmt::format(
            "stage {} chunk {} gradients of both copies", chunk.shape.stage, chunk.shape.chunk)};
    const auto stage = static_cast<std::uint32_t>(chunk.shape.stage);
    const std::uint32_t other = layouts.mesh.size(layouts.pipeline_digit) - 1 - stage;
    std::map<Dtype, OpSpec> by_dtype;
    std::map<Dtype, std::int64_t> elements;
    for (const Parameter* p : chunk.parameters()) {
        const Tensor& shard = tables.program().tensors[index(p->gradient_shard)];
        by_dtype[shard.dtype].accumulates.push_back(p->gradient_shard);
        elements[shard.dtype] += shard.bytes.count() / size_bytes(shard.dtype);
    }
    for (auto& [dtype, spec] : by_dtype) {
        spec.name = "gradient reduce of both copies";
        emit(b,
             {.step = {.kind = CollectiveKind::all_reduce, .digits = 1u << layouts.pipeline_digit},
              .to = {},
              .elements = elements[dtype]},
             {.traffic = Traffic::data,
              .wire = dtype,
              .subset = {std::min(stage, other), std::max(stage, other)}},
             spec);
    }
    return b.finish();
}

}  // namespace orrery
