// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/unfused_attention.h"

#include "kernels/gemm/gemm.h"
#include "kernels/random.h"
#include "kernels/softmax/softmax.h"
#include "models/blocks/operator_chains.h"

namespace orrery {
namespace {

// Column parts of the packed tensor.
constexpr std::int8_t kQuery = 0;
constexpr std::int8_t kKey = 1;
constexpr std::int8_t kValue = 2;
constexpr std::int8_t kWhole = -1;

SoftmaxShape softmax_shape(const BlockBuilder& b, const AttentionShape& s) {
    return {.batch = s.batch,
            .heads = s.heads,
            .seq_q = s.seq_q,
            .seq_kv = s.seq_kv,
            .causal = true,
            .dropout = b.model.dropout > 0,
            .head_dim = s.head_dim,
            .window = s.window,
            .unfused_steps = !b.plan.fused_activation && !b.plan.compiled};
}

void softmax_in_fp32(BlockBuilder& b, std::string_view name, const Value& scores, bool back) {
    if (!b.plan.autocast) {
        return;
    }
    const bool fused = b.plan.fused_activation || b.plan.compiled;
    const ChainBytes& more = fused ? kAutocastFusedSoftmax : kAutocastSoftmax;
    b.framework_ops(std::string{name} + " in fp32", scores, back ? more.backward : more.forward);
}

Value score_matrix(
    BlockBuilder& b, std::string_view name, const Value& qkv, Lifetime lifetime, Dtype dtype) {
    // (sequence, batch, heads * sequence): one row of scores for each query and head.
    return b.value(name,
                   b.model.num_attention_heads * b.model.seq_length,
                   qkv.layout,
                   lifetime,
                   dtype,
                   TensorKind::activations);
}

struct HeadOperand {
    const Value* value;
    std::int8_t part = kWhole;
    bool transposed = false;
};

bool has_operators(const BlockBuilder& b) {
    return b.plan.eager_attention && !b.plan.compiled;
}

// result = x y for every head of every sequence; m, n and k are those of one head.
void head_product(BlockBuilder& b,
                  std::string_view name,
                  const AttentionShape& s,
                  std::array<std::int64_t, 3> mnk,
                  const HeadOperand& x,
                  const HeadOperand& y,
                  const HeadOperand& result) {
    const Dtype dtype = b.activation_dtype();
    OpSpec spec{.name = std::string{name},
                .stream = kComputeStream,
                .cause = b.recomputing ? Cause::recomputation : Cause::attention_inefficiency,
                .reads = {x.value->tensor, y.value->tensor},
                .writes = {result.value->tensor},
                .accumulates = {},
                .read_parts = {x.part, y.part},
                .write_parts = {result.part}};
    for (const HeadOperand* operand : {&x, &y}) {
        if (operand->transposed) {
            spec.transposed.push_back(operand->value->tensor);
        }
    }
    b.ops.kernel(gemm(mnk[0], mnk[1], mnk[2], s.batch * s.heads, dtype, GemmEpilogue::none, dtype),
                 spec);
}

}  // namespace

void unfused_attention_forward(BlockBuilder& b,
                               std::int64_t layer,
                               const AttentionShape& s,
                               const Value& qkv,
                               Lifetime internals,
                               AttentionActivations& a) {
    const Dtype dtype = qkv.dtype;
    Value scores = score_matrix(b, "attention scores", qkv, Lifetime::slot, dtype);
    a.probabilities = score_matrix(b, "attention probabilities", qkv, internals, dtype);
    a.dropped = a.probabilities;
    std::vector<const Value*> results{&a.probabilities};
    if (b.model.dropout > 0) {
        a.score_mask = score_matrix(b, "attention dropout mask", qkv, internals, Dtype::uint8);
        b.set_random(a.score_mask, RandomPurpose::attention_dropout, layer);
        a.dropped = score_matrix(b, "attention dropped", qkv, internals, dtype);
        results.insert(results.end(), {&a.score_mask, &a.dropped});
    }
    if (has_operators(b)) {
        b.framework_ops(
            "attention mask", qkv.tensor, s.seq_q * s.seq_kv * kMaskChain, kMaskKernels);
    }
    head_product(b,
                 "attention scores",
                 s,
                 {s.seq_q, s.seq_kv, s.head_dim},
                 {&qkv, kQuery},
                 {&qkv, kKey, true},
                 {&scores});
    b.kernel("softmax",
             softmax_forward(softmax_shape(b, s), dtype),
             Cause::memory_bound_kernels,
             {&scores},
             results,
             b.dropout_scalars());
    softmax_in_fp32(b, "softmax", a.probabilities, false);
    head_product(b,
                 "attention values",
                 s,
                 {s.seq_q, s.value_head_dim(), s.seq_kv},
                 {&a.dropped},
                 {&qkv, kValue},
                 {&a.context});
    if (has_operators(b)) {
        b.framework_ops("attention context copy", a.context, kContextCopy, 1);
    }
}

Value unfused_attention_backward(BlockBuilder& b,
                                 const AttentionShape& s,
                                 const Value& qkv,
                                 const AttentionActivations& a,
                                 const Value& dcontext,
                                 Lifetime lifetime) {
    const Dtype dtype = qkv.dtype;
    Value dqkv = b.value("attention backward", qkv.shape[kWidth], qkv.layout, lifetime);
    b.set_column_parts(dqkv, qkv.column_parts);
    Value dscores = score_matrix(b, "attention scores backward", qkv, Lifetime::slot, dtype);
    head_product(b,
                 "values dV",
                 s,
                 {s.seq_kv, s.value_head_dim(), s.seq_q},
                 {&a.dropped, kWhole, true},
                 {&dcontext},
                 {&dqkv, kValue});
    head_product(b,
                 "values dP",
                 s,
                 {s.seq_q, s.seq_kv, s.value_head_dim()},
                 {&dcontext},
                 {&qkv, kValue, true},
                 {&dscores});
    b.kernel("softmax backward",
             softmax_backward(softmax_shape(b, s), dtype),
             Cause::memory_bound_kernels,
             {&a.probabilities, &a.score_mask},
             {},
             b.dropout_scalars(),
             {dscores.tensor});
    softmax_in_fp32(b, "softmax backward", dscores, true);
    head_product(b,
                 "scores dQ",
                 s,
                 {s.seq_q, s.head_dim, s.seq_kv},
                 {&dscores},
                 {&qkv, kKey},
                 {&dqkv, kQuery});
    head_product(b,
                 "scores dK",
                 s,
                 {s.seq_kv, s.head_dim, s.seq_q},
                 {&dscores, kWhole, true},
                 {&qkv, kQuery},
                 {&dqkv, kKey});
    if (has_operators(b)) {
        b.framework_ops("scores backward scale",
                        dqkv.tensor,
                        s.batch * s.heads * (s.seq_q + s.seq_kv) * s.head_dim * kScaledGradient,
                        kScaledGradientKernels);
    }
    return dqkv;
}

}  // namespace orrery
