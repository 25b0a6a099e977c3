// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/context_gather.h"

#include <algorithm>

#include "kernels/elementwise/elementwise.h"
#include "models/blocks/context_ring.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

constexpr int kPieces = 2;  // of a rank's queries: an early and a late one

// `placement` where the ranks of a sequence cut it.
Layout of_whole_sequence(Layout layout, DigitPlacement placement) {
    std::replace(layout.begin(), layout.end(), sharded_mirrored(kSequence), placement);
    return layout;
}

// Copies `from` to a value that holds the same columns in another order of tokens.
Value in_order(BlockBuilder& b, std::string_view name, const Value& from) {
    Value ordered =
        b.value_like(from, name, from.shape[kWidth], from.layout, Lifetime::slot, from.dtype);
    b.set_column_parts(ordered, from.column_parts);
    b.kernel(name,
             transpose(b.local_tokens(from), b.local_width(from), from.dtype),
             Cause::memory_bound_kernels,
             {&from},
             {&ordered});
    return ordered;
}

Value gathered_keys(BlockBuilder& b, const Value& qkv) {
    const Value own = pack_key_value(b, qkv, qkv.layout, b.attended_key_value_size());
    const Layout whole = of_whole_sequence(qkv.layout, replicated());
    return in_order(b, "keys and values in order", b.relayout("key value gather", own, whole));
}

// An early piece of queries sees few keys, its mirrored piece as many more. Both together see as
// many on every rank, so that each kernel here has the mean.
AttentionShape shape_of_piece(AttentionShape own, std::int64_t sequence) {
    own.seq_q = std::max<std::int64_t>(1, own.seq_q / kPieces);
    own.seq_kv = (sequence + own.seq_q) / 2;
    return own;
}

}  // namespace

void gathered_attention_forward(BlockBuilder& b,
                                const AttentionShape& own,
                                const Value& qkv,
                                const AttentionActivations& a) {
    const Value keys = gathered_keys(b, qkv);
    const AttentionShape shape = shape_of_piece(own, b.model.seq_length);
    for (int piece = 0; piece < kPieces; ++piece) {
        const bool first = piece == 0;
        b.kernel("attention",
                 attention_forward(shape, qkv.dtype),
                 Cause::attention_inefficiency,
                 {&qkv, &keys},
                 first ? std::vector<const Value*>{&a.context, &a.statistics}
                       : std::vector<const Value*>{},
                 b.dropout_scalars(),
                 first ? std::vector<TensorId>{}
                       : std::vector<TensorId>{a.context.tensor, a.statistics.tensor});
    }
}

void gathered_attention_backward(BlockBuilder& b,
                                 const AttentionShape& own,
                                 const Value& qkv,
                                 const AttentionActivations& a,
                                 const Value& dcontext,
                                 const Value& dqkv) {
    const Value keys = gathered_keys(b, qkv);
    const AttentionShape shape = shape_of_piece(own, b.model.seq_length);
    Value dkeys = b.value("key value gradient of the sequence",
                          keys.shape[kWidth],
                          of_whole_sequence(qkv.layout, partial()),
                          Lifetime::slot,
                          gradient_of_keys(b, qkv.dtype),
                          TensorKind::communication);
    b.set_column_parts(dkeys, keys.column_parts);
    for (int piece = 0; piece < kPieces; ++piece) {
        const bool first = piece == 0;
        b.kernel(
            "attention backward",
            attention_backward(shape, qkv.dtype),
            Cause::attention_inefficiency,
            {&qkv, &keys, &a.context, &a.statistics, &dcontext},
            first ? std::vector<const Value*>{&dqkv, &dkeys} : std::vector<const Value*>{},
            b.dropout_scalars(),
            first ? std::vector<TensorId>{} : std::vector<TensorId>{dqkv.tensor, dkeys.tensor});
    }
    const Value ordered = in_order(b, "key value gradient in pieces", dkeys);
    const Value reduced = b.relayout("key value gradient reduce", ordered, qkv.layout);
    b.kernel("key value gradient",
             transpose(b.local_tokens(reduced), b.local_width(reduced), reduced.dtype),
             Cause::memory_bound_kernels,
             {&reduced},
             {},
             {},
             {dqkv.tensor});
}

}  // namespace orrery
