// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/linear_attention.h"

#include <algorithm>

#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"
#include "kernels/residual/residual.h"
#include "models/blocks/context_ring.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

constexpr auto kOfLinear = Cause::attention_inefficiency;

// The shapes of one rank's work.
class LinearShape {
public:
    LinearShape(const BlockBuilder& b, const Value& qkv) : model_(b.model), dtype_(qkv.dtype) {
        const std::int64_t sequence = b.local_extent(model_.seq_length, kSequence, qkv.layout);
        batch_ = b.plan.micro_batch_size;
        heads_ = b.local_extent(model_.num_attention_heads, kWidth, qkv.layout);
        kv_heads_ = b.local_extent(b.key_value_heads() * b.key_value_copies(), kWidth, qkv.layout);
        tokens_ = std::min(sequence, kLinearAttentionBlock);
        blocks_ = (sequence + tokens_ - 1) / tokens_;
    }

    AttentionShape inside_blocks() const {
        return {.batch = batch_ * blocks_,
                .seq_q = tokens_,
                .seq_kv = tokens_,
                .heads = heads_,
                .kv_heads = kv_heads_,
                .head_dim = model_.kv_channels,
                .causal = true};
    }
    // A block's keys times its values: the block's term of the matrix.
    KernelCall to_matrix() const {
        return gemm(model_.kv_channels,
                    model_.kv_channels,
                    tokens_,
                    products(),
                    dtype_,
                    GemmEpilogue::none,
                    dtype_);
    }
    // A block's queries times the matrix.
    KernelCall from_matrix() const {
        return gemm(tokens_,
                    model_.kv_channels,
                    model_.kv_channels,
                    products(),
                    dtype_,
                    GemmEpilogue::none,
                    dtype_);
    }
    std::int64_t matrix_rows() const { return batch_ * heads_ * model_.kv_channels; }
    std::int64_t matrix_elements() const { return matrix_rows() * model_.kv_channels; }
    Dtype dtype() const { return dtype_; }

private:
    std::int64_t products() const { return batch_ * blocks_ * heads_; }

    const Transformer& model_;
    Dtype dtype_;
    std::int64_t batch_ = 0;
    std::int64_t heads_ = 0;
    std::int64_t kv_heads_ = 0;
    std::int64_t tokens_ = 0;  // of a block
    std::int64_t blocks_ = 0;
};

// The matrices of a rank's heads, one for each head.
Value matrices(BlockBuilder& b,
               std::string_view name,
               const LinearShape& shape,
               const Layout& layout,
               Lifetime lifetime,
               TensorKind kind = TensorKind::communication) {
    Value v{.tensor = {}, .pieces = 1, .layout = layout, .shape = {}, .dtype = shape.dtype()};
    v.shape = {shape.matrix_rows(), 1, b.model.kv_channels};
    v.tensor = b.ops.tables().tensor({
        .name = std::string{name},
        .parameter = {},
        .dtype = shape.dtype(),
        .kind = kind,
        .lifetime = lifetime,
        .global_shape = v.shape,
        .layout = layout,
        .column_parts = {},
        .bytes = Bytes{shape.matrix_elements() * size_bytes(shape.dtype())},
    });
    return v;
}

// Sends `matrix` to the rank `delta` further, and returns the matrix of the opposite neighbour.
Value pass_on(BlockBuilder& b,
              std::string_view name,
              const LinearShape& shape,
              const Value& matrix,
              std::int64_t hop,
              int delta) {
    Value received = matrices(b, name, shape, matrix.layout, Lifetime::slot);
    emit_hop(b.ops,
             digit_of_hop(b.layouts, hop),
             delta,
             Bytes{shape.matrix_elements() * size_bytes(shape.dtype())},
             {.name = std::string{name},
              .reads = {matrix.tensor},
              .writes = {received.tensor},
              .accumulates = {}});
    return received;
}

// The sum of the matrices of all ranks on one side. LASP passes one sum from rank to rank; it
// reaches the last rank after one hop for each rank before it. Here all ranks take part in each hop
// and add the matrices of that side. The last rank needs the same time.
Value sum_of_others(BlockBuilder& b,
                    std::string_view name,
                    const LinearShape& shape,
                    const Value& own,
                    int delta,
                    Lifetime lifetime) {
    const Value sum = matrices(b, name, shape, own.layout, lifetime);
    Value passing = own;
    for (std::int64_t hop = 1; hop < ranks_of_ring(b.layouts); ++hop) {
        passing = pass_on(b, name, shape, passing, hop, delta);
        b.kernel(name,
                 residual_add(shape.matrix_rows(), b.model.kv_channels, shape.dtype()),
                 kOfLinear,
                 {&passing},
                 hop == 1 ? std::vector<const Value*>{&sum} : std::vector<const Value*>{},
                 {},
                 hop == 1 ? std::vector<TensorId>{} : std::vector{sum.tensor});
    }
    return sum;
}

}  // namespace

void linear_attention_forward(BlockBuilder& b,
                              const Value& qkv,
                              Lifetime saved,
                              LinearAttentionActivations& a) {
    const LinearShape shape{b, qkv};
    const Value matrix = matrices(
        b, "linear attention state", shape, qkv.layout, Lifetime::slot, TensorKind::activations);
    b.kernel("linear attention state", shape.to_matrix(), kOfLinear, {&qkv}, {&matrix});
    b.kernel("linear attention in blocks",
             attention_forward(shape.inside_blocks(), shape.dtype()),
             kOfLinear,
             {&qkv},
             {&a.context});
    const bool ring = ranks_of_ring(b.layouts) > 1;
    std::vector<const Value*> reads{&qkv, &matrix};
    if (ring) {
        a.before = sum_of_others(b, "linear attention ring", shape, matrix, 1, saved);
        reads.push_back(&a.before);
    }
    b.kernel("linear attention of earlier blocks",
             shape.from_matrix(),
             kOfLinear,
             reads,
             {},
             {},
             {a.context.tensor});
}

Value linear_attention_backward(BlockBuilder& b,
                                const Value& qkv,
                                const LinearAttentionActivations& a,
                                const Value& dcontext,
                                Lifetime lifetime) {
    const LinearShape shape{b, qkv};
    Value dqkv = b.value("linear attention backward", qkv.shape[kWidth], qkv.layout, lifetime);
    b.set_column_parts(dqkv, qkv.column_parts);
    const Value dmatrix = matrices(b,
                                   "linear attention state backward",
                                   shape,
                                   qkv.layout,
                                   Lifetime::slot,
                                   TensorKind::activations);
    // The gradient of the matrix: queries times gradients of outputs.
    b.kernel("linear attention state backward",
             shape.to_matrix(),
             kOfLinear,
             {&qkv, &dcontext},
             {&dmatrix});
    b.kernel("linear attention in blocks backward",
             attention_backward(shape.inside_blocks(), shape.dtype()),
             kOfLinear,
             {&qkv, &dcontext},
             {&dqkv});
    std::vector<const Value*> of_queries{&qkv, &dcontext};
    std::vector<const Value*> of_keys{&qkv, &dmatrix};
    Value behind;
    if (ranks_of_ring(b.layouts) > 1) {
        behind =
            sum_of_others(b, "linear attention ring backward", shape, dmatrix, -1, Lifetime::slot);
        of_queries.push_back(&a.before);
        of_keys.push_back(&behind);
    }
    // The matrices of earlier blocks are computed again for the gradients of queries. Gradients of
    // keys and values follow from the later blocks' gradients of the matrix.
    const Value again = matrices(
        b, "linear attention state", shape, qkv.layout, Lifetime::slot, TensorKind::activations);
    b.kernel("linear attention state again", shape.to_matrix(), kOfLinear, {&qkv}, {&again});
    of_queries.push_back(&again);
    for (const char* const name :
         {"linear attention dQ", "linear attention dK", "linear attention dV"}) {
        const bool queries = name == std::string_view{"linear attention dQ"};
        b.kernel(name,
                 shape.from_matrix(),
                 kOfLinear,
                 queries ? of_queries : of_keys,
                 {},
                 {},
                 {dqkv.tensor});
    }
    return dqkv;
}

}  // namespace orrery
