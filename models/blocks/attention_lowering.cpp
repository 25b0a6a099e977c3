// SPDX-License-Identifier: Apache-2.0
// Attention between the QKV product and the projection: rotary embedding, whole key-value heads for
// ranks that share one (as Megatron-LM gathers the product's output where num_query_groups is less
// than the tensor-parallel size), the context-parallel exchange (head exchange as in
// DeepSpeed-Ulysses, arXiv 2309.14509, a ring of K and V blocks as in Ring Attention, arXiv
// 2310.01889, with Megatron-LM's balanced halves, or an all-gather of K and V), and the kernels.
#include <algorithm>

#include "kernels/attention/attention.h"
#include "kernels/cast/cast.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/random.h"
#include "kernels/residual/residual.h"
#include "models/blocks/attention_buffers.h"
#include "models/blocks/context_gather.h"
#include "models/blocks/context_ring.h"
#include "models/blocks/layer_lowering.h"
#include "models/blocks/linear_attention.h"
#include "models/blocks/rotary_lowering.h"
#include "models/blocks/unfused_attention.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

AttentionGeneration generation(AttentionKernel kernel) {
    switch (kernel) {
        case AttentionKernel::flash_1:
            return AttentionGeneration::flash_1;
        case AttentionKernel::flash_3:
        case AttentionKernel::cudnn:
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
            .kv_heads = b.local_extent(b.key_value_heads() * b.key_value_copies(), kWidth, query),
            .head_dim = m.query_head(),
            .causal = true,
            .window = m.layer_has_window(layer) ? m.sliding_window : 0,
            .generation = generation(b.plan.attention_kernel),
            .value_dim = m.value_head() == m.query_head() ? 0 : m.value_head()};
}

// A step of the ring beyond the first: half of the block's query-key pairs are visible (each rank
// holds one early and one late half of the sequence), none of them masked.
AttentionShape ring_step_shape(AttentionShape own) {
    own.causal = false;
    own.window = 0;
    own.seq_kv = std::max<std::int64_t>(1, own.seq_kv / 2);
    return own;
}

// The queries of one packed value with the K and V of a block.
Value join_key_value(BlockBuilder& b,
                     std::string_view name,
                     const Value& queries,
                     const Value& block,
                     std::int64_t kv,
                     Lifetime lifetime) {
    const std::int64_t q = b.model.query_size();
    Value qkv =
        b.value(name, q + 2 * kv, queries.layout, lifetime, queries.dtype, TensorKind::activations);
    b.set_column_parts(qkv, {q, kv, kv});
    b.kernel(name,
             transpose(b.local_tokens(qkv), b.local_width(qkv), qkv.dtype),
             Cause::memory_bound_kernels,
             {&queries, &block},
             {&qkv});
    return qkv;
}

// The QKV product leaves each rank that shares a key-value head a slice of its columns. Returns the
// layout once each has all of them, or terms of all of their gradient.
Layout of_shared_heads(const BlockBuilder& b, Layout layout, DigitPlacement placement) {
    for (std::uint32_t digit = 0; digit < layout.size(); ++digit) {
        layout[digit] = (b.layouts.head_digits >> digit & 1u) != 0 ? placement : layout[digit];
    }
    return layout;
}

bool shares_heads(const BlockBuilder& b) {
    return b.layouts.ranks_of_head() > 1;
}

// Every rank gets the whole head that it shares.
Value with_whole_heads(BlockBuilder& b, const Value& qkv, Lifetime lifetime) {
    const Value slices = pack_key_value(b, qkv, qkv.layout, b.model.kv_size());
    const Value heads =
        b.relayout("key value gather", slices, of_shared_heads(b, qkv.layout, replicated()));
    return join_key_value(b, "whole key value heads", qkv, heads, b.key_value_size(), lifetime);
}

// What each rank's queries say of the gradient of the head that it shares, added up.
Value with_summed_heads(BlockBuilder& b, const Value& dqkv, Lifetime lifetime) {
    const std::int64_t kv = b.model.kv_size();
    const Value shares = pack_key_value(b, dqkv, of_shared_heads(b, dqkv.layout, partial()), kv);
    const Value sums = b.relayout("key value gradient reduce", shares, dqkv.layout);
    return join_key_value(b, "key value gradient slices", dqkv, sums, kv, lifetime);
}

// In FP8 where the plan says so, one cast for all heads. The backward pass casts again: what is
// kept has 16 bits.
Value as_products_read(BlockBuilder& b, std::string_view name, const Value& x) {
    if (!b.plan.fp8_dot_product_attention) {
        return x;
    }
    Value y = b.value_like(x, name, x.shape[kWidth], x.layout, Lifetime::slot, Dtype::fp8);
    b.set_column_parts(y, x.column_parts);
    b.kernel(name,
             cast(b.local_tokens(x) * b.local_width(x), x.dtype, Dtype::fp8),
             Cause::memory_bound_kernels,
             {&x},
             {&y});
    return y;
}

void flash_forward(BlockBuilder& b,
                   const AttentionShape& own,
                   const Value& given,
                   Lifetime internals,
                   AttentionActivations& a) {
    if (b.layouts.gather_key_value) {
        gathered_attention_forward(b, own, given, a);
        return;
    }
    const Value qkv = as_products_read(b, "attention cast", given);
    const Dtype dtype = qkv.dtype;
    constexpr auto cause = Cause::attention_inefficiency;
    const std::int64_t steps = ranks_of_ring(b.layouts);
    Value block;
    if (steps > 1) {
        a.query = query_of_ring(b, given, internals);
        const Value* const query = a.query.empty() ? nullptr : &a.query;
        block = pack_key_value(b, qkv, qkv.layout, b.attended_key_value_size(), query);
    }
    std::vector<RingStep> made;
    for (std::int64_t step = 0; step < steps; ++step) {
        Value next;
        if (step + 1 < steps) {
            const bool last = step + 2 == steps;
            next = ring_hop(
                b, "key value ring", block, step + 1, 1, last ? internals : Lifetime::slot);
        }
        std::vector<const Value*> reads{&qkv};
        std::vector<const Value*> writes{&a.context, &a.statistics};
        std::vector<TensorId> adds;
        if (step > 0) {
            reads.push_back(&block);
            a.last_block = block;
        }
        if (joins_steps(b)) {
            made.push_back(ring_step(b, a));
            writes = {&made.back().context, &made.back().statistics};
            if (step > 0) {
                copy_half(b, block);
            }
        } else if (step > 0) {
            adds = {a.context.tensor, a.statistics.tensor};
            writes.clear();
        }
        b.kernel("attention",
                 attention_forward(step == 0 ? own : ring_step_shape(own), dtype),
                 cause,
                 reads,
                 writes,
                 b.dropout_scalars(),
                 adds);
        block = next;
    }
    join_outputs(b, made, a);
}

// The ring runs the other way round, from the block that came last to the own one, as Transformer
// Engine's does: nothing waits for K and V at the start, and the gradients of a block, which travel
// one step behind it, come home while the own block is worked on.
Value ring_backward(BlockBuilder& b,
                    const AttentionShape& own,
                    const Value& qkv,
                    const AttentionActivations& a,
                    const Value& dcontext,
                    Value dqkv) {
    const Dtype dtype = qkv.dtype;
    const std::int64_t steps = ranks_of_ring(b.layouts);
    const Value& query = a.query.empty() ? qkv : a.query;
    Value block = a.last_block;
    Value sum;  // the gradient of the block of the step before
    for (std::int64_t step = 0; step < steps; ++step) {
        const bool is_own = step + 1 == steps;
        Value next;
        Value others;  // what the ranks before have added to this block's gradient
        if (!is_own) {
            next = ring_hop(b, "key value ring backward", block, steps - 1 - step, -1);
        }
        if (step > 0) {
            others = ring_hop(b, "key value gradient ring", sum, steps - step, -1);
        }
        sum = b.value("key value gradient",
                      block.shape[kWidth],
                      block.layout,
                      Lifetime::slot,
                      gradient_of_keys(b, dtype),
                      TensorKind::communication);
        b.set_column_parts(sum, block.column_parts);
        std::vector<const Value*> writes{&sum};
        const bool joins = joins_steps(b);
        const Value dquery = joins ? step_query_gradient(b, dqkv) : Value{};
        if (joins) {
            writes.push_back(&dquery);
            if (!is_own) {
                copy_half(b, block);
            }
        } else if (step == 0) {
            writes.push_back(&dqkv);
        }
        b.kernel("attention backward",
                 attention_backward(is_own ? own : ring_step_shape(own), dtype),
                 Cause::attention_inefficiency,
                 {&query, &block, &a.context, &a.statistics, &dcontext},
                 writes,
                 b.dropout_scalars(),
                 step == 0 || joins ? std::vector<TensorId>{} : std::vector{dqkv.tensor});
        if (joins) {
            join_query_gradient(b, dquery, dqkv, step == 0);
        }
        if (step > 0) {
            b.kernel("key value gradient",
                     residual_add(b.local_tokens(sum), b.local_width(sum), sum.dtype),
                     Cause::memory_bound_kernels,
                     is_own ? std::vector<const Value*>{&others, &sum}
                            : std::vector<const Value*>{&others},
                     {},
                     {},
                     {is_own ? dqkv.tensor : sum.tensor});
        }
        block = next;
    }
    return dqkv;
}

Value flash_backward(BlockBuilder& b,
                     const AttentionShape& own,
                     const Value& qkv,
                     const AttentionActivations& a,
                     const Value& dcontext,
                     Lifetime lifetime) {
    Value dqkv = b.value("attention backward", qkv.shape[kWidth], qkv.layout, lifetime);
    b.set_column_parts(dqkv, qkv.column_parts);
    if (b.layouts.gather_key_value) {
        gathered_attention_backward(b, own, qkv, a, dcontext, dqkv);
        return dqkv;
    }
    if (ranks_of_ring(b.layouts) > 1) {
        return ring_backward(b, own, qkv, a, dcontext, std::move(dqkv));
    }
    const Value inputs = as_products_read(b, "attention recast", qkv);
    const Value gradient = as_products_read(b, "attention gradient cast", dcontext);
    const std::vector<Value> buffers = attention_backward_buffers(b, qkv);
    std::vector<const Value*> writes{&dqkv};
    for (const Value& buffer : buffers) {
        writes.push_back(&buffer);
    }
    b.kernel("attention backward",
             attention_backward(own, inputs.dtype),
             Cause::attention_inefficiency,
             {&inputs, &a.context, &a.statistics, &gradient},
             writes,
             b.dropout_scalars());
    return dqkv;
}

// Whole key-value heads for ranks that share them.
class SharedHeadsNode : public Node {
public:
    explicit SharedHeadsNode(Edge& qkv) : qkv_(qkv) {}

    void forward(ForwardPass& pass) override {
        if (shares_heads(pass.b)) {
            qkv_.value = with_whole_heads(pass.b, qkv_.value, saved());
        }
    }
    void backward(BackwardPass& pass) override {
        if (shares_heads(pass.b)) {
            qkv_.gradient = with_summed_heads(pass.b, qkv_.gradient, pass.read_later());
        }
    }

private:
    Edge& qkv_;
};

class RotaryNode : public Node {
public:
    explicit RotaryNode(Edge& qkv) : qkv_(qkv) {}

    void forward(ForwardPass& pass) override {
        rotate(pass.b, "rotary embedding", qkv_.value, false);
    }
    void backward(BackwardPass& pass) override {
        rotate(pass.b, "rotary embedding backward", qkv_.gradient, true);
    }

private:
    Edge& qkv_;
};

// Q, K and V as attention reads them: all tokens of some heads where ranks exchange heads, and a
// copy of each key-value head for each query head where they are repeated.
class HeadExchangeNode : public Node {
public:
    HeadExchangeNode(Edge& qkv, Edge& exchanged) : qkv_(qkv), exchanged_(exchanged) {}

    void forward(ForwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Lifetime of_copies = b.exchanges_heads() ? Lifetime::slot : saved();
        const std::int64_t copies = b.key_value_copies();
        const Value sent =
            copies > 1 ? with_copies(b, "key value head copies", qkv_.value, copies, of_copies)
                       : qkv_.value;
        exchanged_.value = b.relayout("qkv head exchange", sent, b.layouts.query, saved());
    }
    void backward(BackwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const bool copies = b.key_value_copies() > 1;
        qkv_.gradient = b.relayout("qkv head exchange backward",
                                   exchanged_.gradient,
                                   qkv_.value.layout,
                                   copies ? Lifetime::slot : pass.read_later());
        if (copies) {
            qkv_.gradient =
                with_copies(b, "key value gradient sum", qkv_.gradient, 1, pass.read_later());
        }
    }

private:
    // Packed Q, K and V with `copies` of each key-value head, from another number of them.
    static Value with_copies(BlockBuilder& b,
                             std::string_view name,
                             const Value& qkv,
                             std::int64_t copies,
                             Lifetime lifetime) {
        const std::int64_t q = b.model.query_size();
        const std::int64_t kv = b.key_value_size() * copies;
        Value packed =
            b.value(name, q + 2 * kv, qkv.layout, lifetime, qkv.dtype, TensorKind::activations);
        b.set_column_parts(packed, {q, kv, kv});
        // Where ranks exchange no heads, Q stays where it is. A transpose's columns are half of the
        // keys and values that are read and written.
        const std::int64_t moved = b.key_value_size() * (1 + b.key_value_copies());
        const std::int64_t columns = b.exchanges_heads()
                                         ? std::max(b.local_width(packed), b.local_width(qkv))
                                         : moved * b.local_width(packed) / (q + 2 * kv);
        b.kernel(name,
                 transpose(b.local_tokens(packed), columns, qkv.dtype),
                 Cause::memory_bound_kernels,
                 {&qkv},
                 {&packed});
        return packed;
    }

    Edge& qkv_;
    Edge& exchanged_;
};

// Everything between the exchanged Q, K, V and the exchanged output. `internals`: how long what
// only its own backward pass reads lives.
class CoreAttentionNode : public Node {
public:
    CoreAttentionNode(std::int64_t layer, Lifetime internals, Edge& qkv, Edge& context)
        : layer_(layer), internals_(internals), qkv_(qkv), context_(context) {}

    void forward(ForwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Value& qkv = qkv_.value;
        made_ = {};
        // The backward pass of linear attention does not read its output.
        const bool linear = b.model.layer_is_linear(layer_);
        const Lifetime kept = linear && b.exchanges_heads() ? Lifetime::slot : saved();
        made_.context = b.value("attention output", b.model.context_size(), qkv.layout, kept);
        if (linear) {
            linear_.context = made_.context;
            linear_attention_forward(b, qkv, internals_, linear_);
            context_.value = made_.context;
            return;
        }
        made_.statistics = b.value("attention statistics",
                                   b.model.num_attention_heads,
                                   qkv.layout,
                                   saved(),
                                   Dtype::fp32,
                                   TensorKind::activations);
        if (b.model.dropout > 0) {
            b.set_random(made_.statistics, RandomPurpose::attention_dropout, layer_);
        }
        const AttentionShape shape = local_shape(b, layer_, qkv.layout);
        if (unfused(b)) {
            unfused_attention_forward(b, layer_, shape, qkv, internals_, made_);
        } else {
            flash_forward(b, shape, qkv, internals_, made_);
        }
        context_.value = made_.context;
    }
    void backward(BackwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Value& qkv = qkv_.value;
        const Lifetime lifetime = pass.read_later();
        if (b.model.layer_is_linear(layer_)) {
            qkv_.gradient = linear_attention_backward(b, qkv, linear_, context_.gradient, lifetime);
            return;
        }
        const AttentionShape shape = local_shape(b, layer_, qkv.layout);
        qkv_.gradient =
            unfused(b)
                ? unfused_attention_backward(b, shape, qkv, made_, context_.gradient, lifetime)
                : flash_backward(b, shape, qkv, made_, context_.gradient, lifetime);
    }

private:
    std::int64_t layer_;
    Lifetime internals_;
    Edge& qkv_;
    Edge& context_;
    AttentionActivations made_;
    LinearAttentionActivations linear_;  // instead, of a layer with linear attention
};

// Attention's output as the projection reads it, which keeps it.
class ContextExchangeNode : public Node {
public:
    ContextExchangeNode(const Edge& qkv, Edge& exchanged, Edge& context)
        : qkv_(qkv), exchanged_(exchanged), context_(context) {}

    void forward(ForwardPass& pass) override {
        context_.value =
            pass.b.relayout("context head exchange", exchanged_.value, qkv_.value.layout, saved());
    }
    void backward(BackwardPass& pass) override {
        exchanged_.gradient = pass.b.relayout(
            "context head exchange backward", context_.gradient, exchanged_.value.layout);
    }

private:
    const Edge& qkv_;
    Edge& exchanged_;
    Edge& context_;
};

}  // namespace

Edge& add_attention(Tape& tape,
                    const LayerRecompute& recompute,
                    std::int64_t layer,
                    Edge& qkv,
                    std::vector<Node*>& before,
                    std::vector<Node*> makers) {
    Edge& exchanged_qkv = tape.edge();
    Edge& exchanged_context = tape.edge();
    Edge& context = tape.edge();
    const bool again = recompute.parts.has(LayerPart::core);
    const Lifetime internals =
        recompute.whole.again || again ? Lifetime::slot : Lifetime::micro_batch;
    before = {&tape.add<SharedHeadsNode>(qkv),
              &tape.add<RotaryNode>(qkv),
              &tape.add<HeadExchangeNode>(qkv, exchanged_qkv)};
    auto& core = tape.add<CoreAttentionNode>(layer, internals, exchanged_qkv, exchanged_context);
    auto& exchange = tape.add<ContextExchangeNode>(qkv, exchanged_context, context);
    if (!makers.empty()) {
        makers.push_back(before.back());
    }
    if (again) {
        makers.push_back(&core);
    }
    tape.run_again_before(exchange, std::move(makers));
    return context;
}

}  // namespace orrery
