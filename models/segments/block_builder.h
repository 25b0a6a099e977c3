// SPDX-License-Identifier: Apache-2.0
// The vocabulary for lowering a transformer: values with layouts, matrix products, and the
// communication for changes of layout. A product and the collective before or after it can run in
// chunks on two streams (tensor-parallel overlap). The chunks are the pieces of a Value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "kernels/random.h"
#include "models/plan/layout_assignment.h"
#include "models/plan/plan.h"
#include "models/segments/segment_builder.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The kind of what a collective delivers: a buffer, or an activation that a backward pass reads.
inline TensorKind kind_of_received(Lifetime lifetime) {
    return lifetime == Lifetime::slot ? TensorKind::communication : TensorKind::activations;
}

// Numbers of rows of tokens; a token has a row for each of its experts. The numbers are those of
// the whole value, while rows lie with their tokens and while they lie with their experts. In the
// second case every rank is assumed to have as many rows as the busiest one.
struct TokenRows {
    std::int64_t with_tokens = 0;
    std::int64_t with_experts = 0;
    std::int64_t layer = -1;  // the layer whose router decides the number; -1: no router does
    // The share of that rank's rows that each of its experts takes; empty: equal shares.
    std::vector<double> of_experts{};
    // With plan.moe_fused_kernels, tensors of counts. `chosen`: the experts of each token. `sent`:
    // this rank's tokens for each expert. `received`: the rows for each of this rank's experts from
    // each rank that shares them. `held`: the rows that finally lie with the experts, from all
    // ranks that split each expert.
    struct Counts {
        TensorId chosen{};
        TensorId sent{};
        TensorId received{};
        TensorId held{};
    };
    std::optional<Counts> counts{};
    // With `counts`: the most rows of one rank that another rank's experts can receive
    std::int64_t most = 0;
};

// An activation.
struct Value {
    TensorId tensor{};
    // The number of pieces of its tokens in which it is made (engine/program/program.h, Tensor),
    // usually one; 0: no value.
    std::size_t pieces = 0;
    Layout layout;
    std::vector<std::int64_t> shape;  // global (sequence, batch, width)
    Dtype dtype = Dtype::bf16;
    std::vector<std::int64_t> column_parts{};  // of the width (engine/program/program.h, Tensor)
    // For values of experts, whose sequence has these rows instead of the model's tokens
    TokenRows rows{};
    bool of_experts() const { return rows.with_tokens > 0; }
    bool empty() const { return pieces == 0; }
};

// A weight matrix or vector with its gradient.
struct Parameter {
    std::string name;
    std::int64_t layer = 0;  // -1: embedding, num_layers: output side
    Layout layout;           // along the model digits
    // Global (input, output); vectors (1, n); experts are the third dimension
    std::vector<std::int64_t> shape;
    Layout gradient_layout;     // from the backward pass: partial along the digits of tokens
    std::int64_t elements = 0;  // of one rank, before data-parallel sharding
    bool transposed = false;    // stored as (output, input), as a tied output layer is
    std::vector<std::int64_t>
        column_parts;  // of the output dimension (engine/program/program.h, Tensor)
    // The tensors of the parameter. Their layouts are those of its state
    // (models/plan/state_layouts.h).
    TensorId stored{};          // persists
    TensorId weight{};          // operand of products: `stored`, or gathered from it
    TensorId secondary{};       // copy that a forward pass keeps for the backward pass, if any
    TensorId gradient{};        // the backward pass adds to it
    TensorId gradient_shard{};  // the persistent part of the gradient: the same tensor, or a shard
    bool in_16_bits = false;    // its products stay in 16 bits with FP8 recipes, too
    bool used_twice = false;    // a pass of its chunk makes two gradients of it, which add up
    bool of_experts() const { return shape.size() > kExpert; }
    // Whether products read a copy that is gathered for each use.
    bool gathered() const { return weight != stored; }
};

inline const StateLayouts& state_of(const LayoutAssignment& layouts, const Parameter& p) {
    return p.of_experts() ? layouts.expert_state : layouts.state;
}

class BlockBuilder {
public:
    BlockBuilder(ProgramTables& tables,
                 const Transformer& model,
                 const ParallelPlan& plan,
                 const LayoutAssignment& layouts,
                 std::string segment_name);

    const Transformer& model;
    const ParallelPlan& plan;
    const LayoutAssignment& layouts;
    SegmentBuilder ops;

    // While this is on, emitted forward kernels count as recomputation, and their results live only
    // for the slot.
    bool recomputing = false;
    // The framework's calls for each emitted product; above one for products that are not fused
    // (plan.fused_projections).
    std::uint8_t calls_of_products = 1;
    std::uint8_t calls_of_kernels = 1;  // the same for kernel()
    // The number of products that multiply by `w`: one, or one for each column part if the plan
    // fuses none.
    std::uint8_t projections_of(const Parameter& w) const {
        const bool apart = !plan.fused_projections && w.column_parts.size() > 1;
        return static_cast<std::uint8_t>(apart ? w.column_parts.size() : 1);
    }

    Dtype activation_dtype() const {
        return plan.precision == Dtype::fp8 ? Dtype::bf16 : plan.precision;
    }
    std::int64_t local_tokens(const Value& v) const {  // of the whole value
        return local_extent(v.shape[kSequence], kSequence, v.layout) *
               local_extent(v.shape[kBatch], kBatch, v.layout);
    }
    std::int64_t local_width(const Value& v) const {
        return local_extent(v.shape[kWidth], kWidth, v.layout);
    }
    std::int64_t local_extent(std::int64_t extent, int dim, const Layout& layout) const;
    // Extents of a rank's part of a parameter.
    std::int64_t local_input(const Parameter& p) const {
        return local_extent(p.shape[kInput], kInput, p.layout);
    }
    std::int64_t local_output(const Parameter& p) const {
        return local_extent(p.shape[kOutput], kOutput, p.layout);
    }
    // The number of experts whose matrices a rank holds; 1 if the parameter is not of experts. A
    // product with several is one grouped product.
    std::int64_t local_experts(const Parameter& p) const {
        return p.of_experts() ? local_extent(p.shape[kExpert], kExpert, p.layout) : 1;
    }

    // A new activation that will be made in `pieces` pieces of its tokens.
    Value value(std::string_view name,
                std::int64_t width,
                const Layout& layout,
                Lifetime lifetime,
                std::size_t pieces = 1);
    Value value(std::string_view name,
                std::int64_t width,
                const Layout& layout,
                Lifetime lifetime,
                Dtype dtype,
                TensorKind kind,
                std::size_t pieces = 1);
    // A new value of rows of tokens on their way to experts.
    Value rows_value(std::string_view name,
                     TokenRows rows,
                     std::int64_t width,
                     const Layout& layout,
                     Lifetime lifetime,
                     Dtype dtype,
                     TensorKind kind = TensorKind::activations);
    // A new value with the tokens or rows of `x`.
    Value value_like(const Value& x,
                     std::string_view name,
                     std::int64_t width,
                     const Layout& layout,
                     Lifetime lifetime,
                     Dtype dtype,
                     TensorKind kind = TensorKind::activations,
                     std::size_t pieces = 1);

    // The parts are, for example, the heads of Q, K and V. Every shard of the width has its share
    // of each part.
    void set_column_parts(Value& v, std::vector<std::int64_t> parts);
    // Names the dropout of which the value is the mask, or which the kernel that writes the value
    // applies.
    void set_random(const Value& v, RandomPurpose purpose, std::int64_t layer);
    // The additional operands of kernels that apply dropout; empty if the model has none.
    std::vector<TensorId> dropout_scalars();
    // The value is also read by another slot of the same micro-batch.
    void outlive_slot(const Value& v);

    // The number of key-value heads of all tensor-parallel ranks, where a head that several ranks
    // share counts once for each of them, and the columns of these heads in packed Q, K and V.
    std::int64_t key_value_heads() const { return model.key_heads() * layouts.ranks_of_head(); }
    std::int64_t key_value_size() const { return model.kv_size() * layouts.ranks_of_head(); }
    // The copies of each key-value head that attention reads. Ranks that exchange heads need whole
    // heads: if there are fewer key-value heads than ranks, each head is sent to every rank that
    // shares it (DeepSpeed's SequenceParallel for groups).
    std::int64_t key_value_copies() const {
        if (plan.repeat_key_value_heads) {
            return model.num_attention_heads / key_value_heads();
        }
        std::int64_t ranks = 1;  // ranks that attend to different heads
        for (std::uint32_t digit = 0; digit < layouts.query.size(); ++digit) {
            ranks *= layouts.query[digit] == sharded(kWidth) ? layouts.mesh.size(digit) : 1;
        }
        return std::max<std::int64_t>(ranks / key_value_heads(), 1);
    }
    std::int64_t attended_key_value_size() const { return key_value_size() * key_value_copies(); }
    // Ranks of one sequence exchange heads for tokens before attention and behind it.
    bool exchanges_heads() const {
        const std::uint32_t digit = layouts.context_digit;
        return layouts.mesh.size(digit) > 1 && layouts.query[digit].placement == Placement::shard &&
               layouts.query[digit].dim == kWidth;
    }
    // The lifetime of Q, K and V as their product makes them. Where ranks gather shared heads,
    // exchange heads or copy them, the backward pass reads what attention read instead.
    Lifetime of_own_heads(Lifetime of_whole) const {
        return layouts.ranks_of_head() > 1 || exchanges_heads() || key_value_copies() > 1
                   ? Lifetime::slot
                   : of_whole;
    }

    // Appends a kernel on whole values.
    void kernel(std::string_view name,
                const KernelCall& call,
                Cause cause,
                const std::vector<const Value*>& reads,
                const std::vector<const Value*>& writes,
                const std::vector<TensorId>& weights = {},
                const std::vector<TensorId>& accumulates = {});

    // The value in another layout. It is the value itself if the layouts need no collective;
    // otherwise the collectives are appended. With `pieces` > 1 the first collective is chunked.
    Value relayout(std::string_view name,
                   const Value& v,
                   const Layout& to,
                   Lifetime lifetime = Lifetime::slot,
                   std::size_t pieces = 1,
                   Reduction reduction = Reduction::sum);
    // The same for rows of tokens. `exchange` says how they move; `launches` is the exchange's
    // number of host calls.
    Value relayout_rows(std::string_view name,
                        const Value& v,
                        const Layout& to,
                        Lifetime lifetime,
                        const RowExchange& exchange,
                        std::uint8_t launches);
    // The number of chunks that overlap a transition with its product: 1 without overlap or if
    // nothing moves.
    std::size_t overlap_pieces(const Layout& from, const Layout& to) const;
    std::uint8_t launches_of_piece(std::size_t i) const;

    // The calls that take the host as long as these operators of an eager framework.
    std::uint8_t calls_of_operators(std::uint8_t operators) const;

    // Memory traffic of framework ops for which there is no kernel of their own: one op that moves
    // `bytes` in all, after `tensor` is written. With no `launches` the call of another op launches
    // them.
    void framework_ops(std::string_view name,
                       TensorId tensor,
                       std::int64_t bytes,
                       std::uint8_t launches = 0);
    // The same for each element of a rank's part of `x`.
    void framework_ops(std::string_view name,
                       const Value& x,
                       std::int64_t bytes_of_element,
                       std::uint8_t launches = 0);
    // Of the cast of a weight, or of its gradient, from fp32 or to it.
    std::int64_t cast_bytes_of(const Parameter& w) const;

    // y = x w, in the layout that follows from x and w (x must be in the layout of gemm_input()).
    // It has the chunks of x. With `output_pieces` > 1 it is chunked so that a following collective
    // can start early. With `into`, the product is added to that value piece by piece (beta = 1).
    // `bias` is added to each row if the model has biases.
    Value product(std::string_view name,
                  const Value& x,
                  const Parameter& w,
                  Lifetime lifetime,
                  std::size_t output_pieces = 1,
                  const Value* into = nullptr,
                  const Parameter* bias = nullptr);
    // Computes the columns of one part of w's output again (Parameter::column_parts).
    void product_part(std::string_view name, const Value& x, const Parameter& w, std::int8_t part);
    // The value lives until the backward pass, without the memory of this part.
    void keep_without(const Value& v, std::int8_t part);
    // dx = dy w^T.
    Value gradient_product(std::string_view name,
                           const Value& dy,
                           const Parameter& w,
                           const Value* into = nullptr);
    // x in the element type of products with w: x itself, or x cast to FP8 (with the transposed
    // copy for the backward pass). If the cast comes before the gather, an element travels as one
    // byte (Transformer Engine's FP8 all-gather).
    Value quantised(std::string_view name,
                    const Value& x,
                    const Parameter& w,
                    Lifetime lifetime = Lifetime::slot);
    // The same for an operand that is read again later: the input of a forward product in the
    // backward pass, a gradient in deferred products of weights. The copy is kept for that
    // (plan.fp8_saved_inputs).
    Value quantised_input(std::string_view name, const Value& x, const Parameter& w);
    // The same for a value that has been cast already: the kept copy, if there is one.
    Value as_quantised(Value x, const Parameter& w);
    // dw += x^T dy.
    void weight_product(std::string_view name, const Value& x, const Value& dy, Parameter& w);
    // What a pass makes of w's gradient by itself, of `dtype`: w.gradient where its unit hands that
    // over, else a tensor that add_made_gradient() adds to w.gradient.
    TensorId made_gradient(const std::string& text, const Parameter& w, Dtype dtype);
    void add_made_gradient(const std::string& text, TensorId made, const Parameter& w, Dtype dtype);
    // Of all experts of the rank.
    std::int64_t elements_of_gradient(const Parameter& w) const {
        return local_experts(w) * local_input(w) * local_output(w);
    }
    // db += column sums of dy.
    void bias_gradient(std::string_view name, const Value& dy, Parameter& bias);

    // The traffic class of activations that move over these digits.
    Traffic traffic_over(std::uint32_t digits) const;

private:
    bool holds_rows_of_others(const Layout& layout) const;
    // The number of ranks whose rows such a layout brings together.
    std::int64_t sources_of_rows(const Layout& layout) const;
    std::int64_t batch_of_all_ranks() const;
    Value shaped_value(std::string_view name,
                       std::vector<std::int64_t> shape,
                       const Layout& layout,
                       Lifetime lifetime,
                       Dtype dtype,
                       TensorKind kind,
                       std::int64_t sequence_blocks);
    struct GemmExtent {
        std::int64_t n;  // of one rank
        std::int64_t k;
        bool transposed;        // B is the transpose of the stored weight
        const Parameter* bias;  // or null
    };
    void chunked_gemm(std::string_view name,
                      const Value& given,
                      const Value& y,
                      const Parameter& w,
                      GemmExtent extent,
                      bool accumulate);
    Dtype gemm_dtype(const Parameter& w) const;
    // The number of rows of x for each expert of the rank. w must be of experts.
    std::vector<std::int64_t> rows_of_experts(const Value& x, const Parameter& w) const;
    KernelCall product_call(const Value& x,
                            const Parameter& w,
                            const GemmExtent& extent,
                            std::int64_t chunks) const;
    void operators_of_kept_gradient(const std::string& text,
                                    TensorId gradient,
                                    std::int64_t elements);
    KernelCall weight_product_call(const Value& dy, const Parameter& w, bool fused) const;
};

}  // namespace orrery
