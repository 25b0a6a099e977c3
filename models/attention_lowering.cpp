// SPDX-License-Identifier: Apache-2.0
// Attention between the QKV product and the projection: rotary embedding, the context-parallel
// exchange (head exchange as in DeepSpeed-Ulysses, arXiv 2309.14509, or a ring of K and V blocks as
// in Ring Attention, arXiv 2310.01889, with Megatron-LM's balanced halves), and the kernels.
#include <algorithm>

#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"
#include "kernels/rope/rope.h"
#include "kernels/softmax/softmax.h"
#include "models/layer_lowering.h"

namespace orrery {
namespace {

constexpr std::uint16_t kRingCommunicator = 10;

AttentionGeneration generation(AttentionKernel kernel) {
    switch (kernel) {
        case AttentionKernel::flash_1:
            return AttentionGeneration::flash_1;
        case AttentionKernel::flash_3_or_cudnn:
            return AttentionGeneration::flash_3_or_cudnn;
        default:
            return AttentionGeneration::flash_2;
    }
}

bool unfused(const BlockBuilder& b) {
    return b.plan.attention_kernel == AttentionKernel::unfused;
}

// The shape on one rank when Q has this layout, attending to its own block of K and V.
AttentionShape local_shape(const BlockBuilder& b, std::int64_t layer, const Layout& query) {
    const Transformer& m = b.model;
    std::int64_t batch = b.plan.micro_batch_size;
    const std::int64_t heads = b.local_extent(m.num_attention_heads, kWidth, query);
    const std::int64_t seq = b.local_extent(m.seq_length, kSequence, query);
    return {.batch = batch,
            .seq_q = seq,
            .seq_kv = seq,
            .heads = heads,
            .kv_heads = std::min(heads, b.local_extent(m.num_query_groups, kWidth, query)),
            .head_dim = m.kv_channels,
            .causal = true,
            .window = m.layer_has_window(layer) ? m.sliding_window : 0,
            .generation = generation(b.plan.attention_kernel)};
}

// A step of the ring beyond the first: half of the block's query-key pairs are visible (each rank
// holds one early and one late half of the sequence), none of them masked.
AttentionShape ring_step_shape(AttentionShape own) {
    own.causal = false;
    own.window = 0;
    own.seq_kv = std::max<std::int64_t>(1, own.seq_kv / 2);
    return own;
}

void rotate(BlockBuilder& b, std::string_view name, const Value& qkv) {
    if (b.model.position_embedding != PositionEmbedding::rope) {
        return;
    }
    const std::int64_t heads = b.local_extent(b.model.num_attention_heads, kWidth, qkv.layout) +
                               b.local_extent(b.model.num_query_groups, kWidth, qkv.layout);
    b.kernel(name,
             rope(b.local_tokens(qkv), heads, b.model.kv_channels, qkv.dtype),
             Cause::memory_bound_kernels,
             {},
             {},
             {},
             qkv.pieces);
}

SoftmaxShape softmax_shape(const BlockBuilder& b, const AttentionShape& s) {
    return {.batch = s.batch,
            .heads = s.heads,
            .seq_q = s.seq_q,
            .seq_kv = s.seq_kv,
            .causal = true,
            .dropout = b.model.dropout > 0,
            .unfused_steps = !b.plan.fused_activation && !b.plan.compiled};
}

Value score_matrix(BlockBuilder& b, std::string_view name, const Value& qkv, Lifetime lifetime) {
    // (sequence, batch, heads * sequence): one row of scores for each query and head.
    return b.value(name, b.model.num_attention_heads * b.model.seq_length, qkv.layout, lifetime);
}

void unfused_forward(BlockBuilder& b,
                     const AttentionShape& s,
                     const Value& qkv,
                     LayerActivations& a) {
    const bool keep = b.plan.recompute_granularity == Recompute::none;
    const Dtype dtype = qkv.dtype;
    const std::int64_t batch = s.batch * s.heads;
    Value scores = score_matrix(b, "attention scores", qkv, Lifetime::slot);
    a.probabilities = score_matrix(
        b, "attention probabilities", qkv, keep ? Lifetime::micro_batch : Lifetime::slot);
    b.kernel("attention scores",
             gemm(s.seq_q, s.seq_kv, s.head_dim, batch, dtype, GemmEpilogue::none, dtype),
             Cause::attention_inefficiency,
             {&qkv},
             {&scores});
    b.kernel("softmax",
             softmax_forward(softmax_shape(b, s), dtype),
             Cause::memory_bound_kernels,
             {&scores},
             {&a.probabilities});
    b.kernel("attention values",
             gemm(s.seq_q, s.head_dim, s.seq_kv, batch, dtype, GemmEpilogue::none, dtype),
             Cause::attention_inefficiency,
             {&a.probabilities, &qkv},
             {&a.context});
}

Value unfused_backward(BlockBuilder& b,
                       const AttentionShape& s,
                       const Value& qkv,
                       const LayerActivations& a,
                       const Value& dcontext,
                       Lifetime lifetime) {
    const Dtype dtype = qkv.dtype;
    const std::int64_t batch = s.batch * s.heads;
    const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
        return gemm(m, n, k, batch, dtype, GemmEpilogue::none, dtype);
    };
    Value dqkv = b.value("attention backward", qkv.shape[kWidth], qkv.layout, lifetime);
    Value dscores = score_matrix(b, "attention scores backward", qkv, Lifetime::slot);
    constexpr auto cause = Cause::attention_inefficiency;
    b.kernel("values dV",
             product(s.seq_kv, s.head_dim, s.seq_q),
             cause,
             {&a.probabilities, &dcontext},
             {&dqkv});
    b.kernel(
        "values dP", product(s.seq_q, s.seq_kv, s.head_dim), cause, {&dcontext, &qkv}, {&dscores});
    b.kernel("softmax backward",
             softmax_backward(softmax_shape(b, s), dtype),
             Cause::memory_bound_kernels,
             {&a.probabilities},
             {},
             {},
             dscores.pieces);
    b.kernel("scores dQ",
             product(s.seq_q, s.head_dim, s.seq_kv),
             cause,
             {&dscores, &qkv},
             {},
             {},
             dqkv.pieces);
    b.kernel("scores dK",
             product(s.seq_kv, s.head_dim, s.seq_q),
             cause,
             {&dscores, &qkv},
             {},
             {},
             dqkv.pieces);
    return dqkv;
}

// One hop of the ring: passes `block` on to the next rank and receives the previous one's.
Value ring_hop(BlockBuilder& b, std::string_view name, const Value& block, const Value* also) {
    Value received = b.value(name,
                             block.shape[kWidth],
                             block.layout,
                             Lifetime::slot,
                             block.dtype,
                             TensorKind::communication);
    const Bytes bytes{local_elements(block.shape, block.layout, b.layouts.mesh) *
                      size_bytes(block.dtype)};
    SendRecvPart part{.is_send = true,
                      .axis = b.layouts.context_axis,
                      .delta = 1,
                      .bytes = bytes,
                      .communicator = kRingCommunicator};
    SendRecvPart back = part;
    back.is_send = false;
    back.delta = -1;
    OpSpec spec{.name = name,
                .stream = kContextStream,
                .cause = Cause::exposed_context,
                .reads = block.pieces,
                .writes = received.pieces,
                .accumulates = {}};
    if (also != nullptr) {
        spec.reads.insert(spec.reads.end(), also->pieces.begin(), also->pieces.end());
    }
    b.ops.send_recv({.parts = {part, back}}, spec);
    return received;
}

std::int64_t ring_steps(const BlockBuilder& b) {
    return b.layouts.stream_key_value ? b.layouts.mesh.size(b.layouts.context_axis) : 1;
}

void flash_forward(BlockBuilder& b,
                   const AttentionShape& own,
                   const Value& qkv,
                   LayerActivations& a) {
    const Dtype dtype = qkv.dtype;
    constexpr auto cause = Cause::attention_inefficiency;
    const std::int64_t steps = ring_steps(b);
    Value block = qkv;  // own K and V
    if (steps > 1) {
        block.shape[kWidth] = 2 * b.model.kv_size();
    }
    for (std::int64_t step = 0; step < steps; ++step) {
        Value next;
        if (step + 1 < steps) {
            next = ring_hop(b, "key value ring", block, nullptr);
        }
        if (step == 0) {
            b.kernel("attention",
                     attention_forward(own, dtype),
                     cause,
                     {&qkv},
                     {&a.context, &a.statistics});
        } else {
            b.kernel("attention",
                     attention_forward(ring_step_shape(own), dtype),
                     cause,
                     {&qkv, &block},
                     {},
                     {},
                     {a.context.pieces[0], a.statistics.pieces[0]});
        }
        block = next;
    }
}

Value flash_backward(BlockBuilder& b,
                     const AttentionShape& own,
                     const Value& qkv,
                     const LayerActivations& a,
                     const Value& dcontext,
                     Lifetime lifetime) {
    constexpr auto cause = Cause::attention_inefficiency;
    const Dtype dtype = qkv.dtype;
    Value dqkv = b.value("attention backward", qkv.shape[kWidth], qkv.layout, lifetime);
    const std::int64_t steps = ring_steps(b);
    Value block = qkv;
    Value dblock;  // gradient of the block, travelling with it
    if (steps > 1) {
        block.shape[kWidth] = 2 * b.model.kv_size();
    }
    for (std::int64_t step = 0; step < steps; ++step) {
        Value next;
        if (step + 1 < steps) {
            next = ring_hop(b, "key value ring backward", block, nullptr);
        }
        const KernelCall call = attention_backward(step == 0 ? own : ring_step_shape(own), dtype);
        if (step == 0) {
            b.kernel("attention backward",
                     call,
                     cause,
                     {&qkv, &a.context, &a.statistics, &dcontext},
                     {&dqkv});
            dblock = dqkv;
            dblock.shape[kWidth] = 2 * b.model.kv_size();
        } else {
            std::vector<TensorId> sums = dqkv.pieces;
            sums.insert(sums.end(), dblock.pieces.begin(), dblock.pieces.end());
            b.kernel("attention backward", call, cause, {&qkv, &block, &dcontext}, {}, {}, sums);
        }
        if (steps > 1) {
            dblock = ring_hop(b, "key value gradient ring", dblock, &dqkv);
        }
        block = next;
    }
    if (steps > 1) {  // the own block's gradient is home again
        b.kernel("key value gradient",
                 rope(b.local_tokens(dqkv),
                      b.local_extent(b.model.num_query_groups, kWidth, dqkv.layout),
                      b.model.kv_channels,
                      dtype),
                 Cause::memory_bound_kernels,
                 {&dblock},
                 {},
                 {},
                 dqkv.pieces);
    }
    return dqkv;
}

// Everything between the exchanged Q, K, V and the exchanged output.
void core_forward(BlockBuilder& b,
                  std::int64_t layer,
                  const Value& exchanged,
                  LayerActivations& a) {
    const AttentionShape shape = local_shape(b, layer, exchanged.layout);
    if (unfused(b)) {
        unfused_forward(b, shape, exchanged, a);
    } else {
        flash_forward(b, shape, exchanged, a);
    }
}

Value exchanged_context(BlockBuilder& b, const Layout& layout) {
    return b.value("attention output", b.model.query_size(), layout, Lifetime::micro_batch);
}

}  // namespace

void attention_forward_ops(BlockBuilder& b, std::int64_t layer, LayerActivations& a) {
    rotate(b, "rotary embedding", a.qkv);
    const Layout before = a.qkv.layout;
    const Value exchanged =
        b.relayout("qkv head exchange", a.qkv, b.layouts.query, Lifetime::micro_batch);
    const bool full = b.plan.recompute_granularity == Recompute::full;
    const Lifetime saved = full ? Lifetime::slot : Lifetime::micro_batch;
    a.exchanged_qkv = exchanged;
    a.context = b.value("attention output", b.model.query_size(), exchanged.layout, saved);
    a.statistics = b.value("attention statistics",
                           b.model.num_attention_heads,
                           exchanged.layout,
                           saved,
                           Dtype::fp32,
                           TensorKind::activations);
    core_forward(b, layer, exchanged, a);
    a.exchanged_context = a.context;
    a.context = b.relayout("context head exchange", a.context, before, saved);
}

Value attention_backward_ops(BlockBuilder& b,
                             std::int64_t layer,
                             LayerActivations& a,
                             const Value& dcontext,
                             Lifetime lifetime) {
    const Layout before = a.qkv.layout;
    const Value& exchanged = a.exchanged_qkv;
    const AttentionShape shape = local_shape(b, layer, exchanged.layout);
    LayerActivations again = a;
    again.context = a.exchanged_context;
    if (b.plan.recompute_granularity == Recompute::selective) {
        b.recomputing = true;
        again.context = exchanged_context(b, exchanged.layout);
        again.statistics = b.value("attention statistics",
                                   b.model.num_attention_heads,
                                   exchanged.layout,
                                   Lifetime::slot,
                                   Dtype::fp32,
                                   TensorKind::activations);
        core_forward(b, layer, exchanged, again);
        b.recomputing = false;
    }
    const Value d = b.relayout("context head exchange backward", dcontext, exchanged.layout);
    const Value dqkv = unfused(b) ? unfused_backward(b, shape, exchanged, again, d, lifetime)
                                  : flash_backward(b, shape, exchanged, again, d, lifetime);
    const Value back = b.relayout("qkv head exchange backward", dqkv, before, lifetime);
    rotate(b, "rotary embedding backward", back);
    return back;
}

}  // namespace orrery
