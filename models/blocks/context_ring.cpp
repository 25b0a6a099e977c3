// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/context_ring.h"

#include <algorithm>

#include "engine/base/check.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/residual/residual.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

constexpr auto kJoins = Cause::memory_bound_kernels;

// Calls for the output of the first step and the statistics' copy, their type and its return; for
// each later step one for its output and one for its statistics.
constexpr std::uint8_t kCallsOfFirst = 4;
constexpr std::uint8_t kCallsOfStep = 2;

// Bytes of the sum in 64 bits: written once, and for each later step read and written.
constexpr std::int64_t kBytesOfSum = 8;

}  // namespace

std::int64_t ranks_of_ring(const LayoutAssignment& layouts) {
    return layouts.stream_key_value ? layouts.mesh.combined_size(layouts.mesh.axis("cp")) : 1;
}

std::uint32_t digit_of_hop(const LayoutAssignment& layouts, std::int64_t hop) {
    ORRERY_CHECK(hop > 0 && hop < ranks_of_ring(layouts));
    std::uint32_t next = layouts.context_digit;
    for (std::int64_t round = 1; hop % round == 0; ++next) {
        round *= layouts.mesh.size(next);
    }
    return next - 1;
}

Value pack_key_value(
    BlockBuilder& b, const Value& qkv, const Layout& layout, std::int64_t kv, const Value* query) {
    Value block = b.value(
        "key value block", 2 * kv, layout, Lifetime::slot, qkv.dtype, TensorKind::communication);
    b.set_column_parts(block, {kv, kv});
    std::vector<const Value*> writes{&block};
    if (query != nullptr) {
        writes.push_back(query);
    }
    b.kernel("key value block",
             transpose(b.local_tokens(block), b.local_width(block), qkv.dtype),
             Cause::memory_bound_kernels,
             {&qkv},
             writes);
    return block;
}

Value query_of_ring(BlockBuilder& b, const Value& qkv, Lifetime internals) {
    const bool own_tensor =
        b.plan.eager_framework && b.model.position_embedding == PositionEmbedding::rope;
    if (!own_tensor || internals == Lifetime::slot) {
        return {};
    }
    b.ops.tables().program().tensors[index(qkv.tensor)].lifetime = Lifetime::slot;
    return b.value(
        "query", b.model.query_size(), qkv.layout, internals, qkv.dtype, TensorKind::activations);
}

Dtype gradient_of_keys(const BlockBuilder& b, Dtype of_keys) {
    return b.plan.context_parallel_fp32_gradients ? Dtype::fp32 : of_keys;
}

Value ring_hop(BlockBuilder& b,
               std::string_view name,
               const Value& block,
               std::int64_t hop,
               int delta,
               Lifetime lifetime) {
    const std::uint32_t ring = digit_of_hop(b.layouts, hop);
    Value received = b.value(name,
                             block.shape[kWidth],
                             from_neighbour(block.layout, ring, -delta, b.layouts.mesh),
                             lifetime,
                             block.dtype,
                             kind_of_received(lifetime));
    b.set_column_parts(received, block.column_parts);
    const Bytes bytes{local_elements(block.shape, block.layout, b.layouts.mesh) *
                      size_bytes(block.dtype)};
    emit_hop(b.ops,
             ring,
             delta,
             bytes,
             {.name = std::string{name},
              .reads = {block.tensor},
              .writes = {received.tensor},
              .accumulates = {}});
    return received;
}

bool joins_steps(const BlockBuilder& b) {
    return b.plan.eager_framework && ranks_of_ring(b.layouts) > 1;
}

RingStep ring_step(BlockBuilder& b, const AttentionActivations& a) {
    const auto like = [&](std::string_view name, const Value& v) {
        return b.value_like(v, name, v.shape[kWidth], v.layout, Lifetime::slot, v.dtype);
    };
    return {.context = like("attention output of step", a.context),
            .statistics = like("attention statistics of step", a.statistics)};
}

void join_outputs(BlockBuilder& b,
                  const std::vector<RingStep>& steps,
                  const AttentionActivations& a) {
    const auto elements = [&](const Value& v) { return b.local_tokens(v) * b.local_width(v); };
    for (std::size_t step = 0; step < steps.size(); ++step) {
        const RingStep& made = steps[step];
        const bool first = step == 0;
        KernelCall call =
            residual_add(b.local_tokens(a.context), b.local_width(a.context), a.context.dtype);
        call.bytes = (first ? 2 : 3) * elements(a.context) * size_bytes(a.context.dtype) +
                     elements(a.statistics) *
                         (size_bytes(a.statistics.dtype) + (first ? 1 : 2) * kBytesOfSum);
        b.calls_of_kernels = first ? kCallsOfFirst : kCallsOfStep;
        const std::vector<const Value*> reads{&made.context, &made.statistics};
        if (first) {
            b.kernel("join of steps", call, kJoins, reads, {&a.context, &a.statistics});
        } else {
            b.kernel("join of steps",
                     call,
                     kJoins,
                     reads,
                     {},
                     {},
                     {a.context.tensor, a.statistics.tensor});
        }
    }
    b.calls_of_kernels = 1;
}

void copy_half(BlockBuilder& b, const Value& block) {
    if (b.plan.attention_kernel == AttentionKernel::cudnn) {
        const std::int64_t half = std::max<std::int64_t>(1, b.local_tokens(block) / 2);
        b.kernel("half of key value block",
                 transpose(half, b.local_width(block), block.dtype),
                 kJoins,
                 {&block},
                 {});
    }
}

Value step_query_gradient(BlockBuilder& b, const Value& dqkv) {
    return b.value_like(dqkv,
                        "query gradient of step",
                        b.model.query_size(),
                        dqkv.layout,
                        Lifetime::slot,
                        dqkv.dtype);
}

void join_query_gradient(BlockBuilder& b, const Value& of_step, const Value& dqkv, bool first) {
    const std::int64_t tokens = b.local_tokens(of_step);
    const std::int64_t width = b.local_width(of_step);
    if (first) {
        b.kernel(
            "query gradient", transpose(tokens, width, of_step.dtype), kJoins, {&of_step}, {&dqkv});
    } else {
        b.kernel("query gradient",
                 residual_add(tokens, width, of_step.dtype),
                 kJoins,
                 {&of_step},
                 {},
                 {},
                 {dqkv.tensor});
    }
}

}  // namespace orrery
