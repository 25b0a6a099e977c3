// SPDX-License-Identifier: Apache-2.0
// The vocabulary in which a transformer is lowered: values with layouts, matrix products, and the
// communication that a change of layout needs. A product and the collective before or after it can
// run in chunks on two streams (tensor-parallel overlap): the pieces of a Value.
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

// Rows of tokens, each as often as it has experts: of the value in all, while they lie with their
// tokens and while they lie with their experts, of which all ranks then are taken to have as many
// as the one with most.
struct TokenRows {
    std::int64_t with_tokens = 0;
    std::int64_t with_experts = 0;
    std::int64_t layer = -1;  // whose router decides how many; -1: none does
    // The part of that rank's rows that each of its experts takes; empty: equal parts.
    std::vector<double> of_experts{};
    // With plan.moe_fused_kernels: the experts of each token, the tokens that the rank has for each
    // expert, the rows that each of the ranks sharing them has for each of this rank's experts, and
    // the rows that lie with the experts in the end: all that the ranks splitting each expert
    // received.
    struct Counts {
        TensorId chosen{};
        TensorId sent{};
        TensorId received{};
        TensorId held{};
    };
    std::optional<Counts> counts{};
    std::int64_t most = 0;  // with `counts`: rows of one rank that another one's experts may get
};

// An activation.
struct Value {
    TensorId tensor{};
    // In how many pieces of its tokens it is made (engine/program/program.h, Tensor), usually one;
    // 0: no value.
    std::size_t pieces = 0;
    Layout layout;
    std::vector<std::int64_t> shape;  // global (sequence, batch, width)
    Dtype dtype = Dtype::bf16;
    std::vector<std::int64_t> column_parts{};  // of the width (engine/program/program.h, Tensor)
    TokenRows rows{};  // of what experts work on, whose sequence has these instead of the model's
    bool of_experts() const { return rows.with_tokens > 0; }
    bool empty() const { return pieces == 0; }
};

// A weight matrix or vector with its gradient.
struct Parameter {
    std::string name;
    std::int64_t layer = 0;           // -1 embedding, num_layers: output side
    Layout layout;                    // along the model digits
    std::vector<std::int64_t> shape;  // global (input, output); vectors (1, n); experts third
    Layout gradient_layout;     // as the backward pass produces it: partial along token digits
    std::int64_t elements = 0;  // of one rank, all data ranks together
    bool transposed = false;    // stored as (output, input): a tied output layer
    std::vector<std::int64_t>
        column_parts;  // of the output dimension (engine/program/program.h, Tensor)
    // The tensors of a parameter. Their layouts are those of its state
    // (models/plan/state_layouts.h).
    TensorId stored{};          // what persists
    TensorId weight{};          // what products read: `stored`, or gathered from it
    TensorId secondary{};       // what a forward pass keeps for the backward pass, if anything
    TensorId gradient{};        // what the backward pass adds to
    TensorId gradient_shard{};  // what persists of it: the same tensor, or a shard
    bool in_16_bits = false;    // FP8 recipes keep its products in 16 bits, too
    bool of_experts() const { return shape.size() > kExpert; }
    // Products read a copy that is made for each use.
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

    // Forward kernels emitted while this is on count as recomputation and their results live for
    // the slot only.
    bool recomputing = false;
    // Calls of the framework that each product takes which is emitted while this is more than one
    // (plan.fused_projections).
    std::uint8_t calls_of_products = 1;
    std::uint8_t calls_of_kernels = 1;  // the same of kernel()
    // Products that the parts of a weight are where nothing fuses them.
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
    // Rank-local extents of a parameter.
    std::int64_t local_input(const Parameter& p) const {
        return local_extent(p.shape[kInput], kInput, p.layout);
    }
    std::int64_t local_output(const Parameter& p) const {
        return local_extent(p.shape[kOutput], kOutput, p.layout);
    }
    // Matrices of it side by side on a rank: 1 but of experts. A product with it is one grouped
    // product.
    std::int64_t local_experts(const Parameter& p) const {
        return p.of_experts() ? local_extent(p.shape[kExpert], kExpert, p.layout) : 1;
    }

    // A new activation, to be made in `pieces` pieces of its tokens.
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
    // Rows of tokens on their way to experts.
    Value rows_value(std::string_view name,
                     TokenRows rows,
                     std::int64_t width,
                     const Layout& layout,
                     Lifetime lifetime,
                     Dtype dtype,
                     TensorKind kind = TensorKind::activations);
    // A value of as many tokens, or rows, as `x` has.
    Value value_like(const Value& x,
                     std::string_view name,
                     std::int64_t width,
                     const Layout& layout,
                     Lifetime lifetime,
                     Dtype dtype,
                     TensorKind kind = TensorKind::activations,
                     std::size_t pieces = 1);

    // Heads of Q, K and V, …: every shard of the width has its part of each.
    void set_column_parts(Value& v, std::vector<std::int64_t> parts);
    // The dropout that the value is the mask of, or that the kernel which writes it applies.
    void set_random(const Value& v, RandomPurpose purpose, std::int64_t layer);
    // What kernels that apply dropout read besides: nothing if the model has none.
    std::vector<TensorId> dropout_scalars();
    // Another slot of the same micro-batch reads the value too.
    void outlive_slot(const Value& v);

    // Key-value heads of all tensor-parallel ranks, one that several share counted for each, and
    // their columns in packed Q, K and V as attention reads them.
    std::int64_t key_value_heads() const { return model.key_heads() * layouts.ranks_of_head(); }
    std::int64_t key_value_size() const { return model.kv_size() * layouts.ranks_of_head(); }
    // Ranks that exchange heads want whole ones. Where there are fewer key-value heads than ranks,
    // each head is sent as often as ranks share it (DeepSpeed's SequenceParallel for groups).
    std::int64_t head_exchange_copies() const {
        std::int64_t ranks = 1;  // that attend to different heads
        for (std::uint32_t digit = 0; digit < layouts.query.size(); ++digit) {
            ranks *= layouts.query[digit] == sharded(kWidth) ? layouts.mesh.size(digit) : 1;
        }
        return std::max<std::int64_t>(ranks / key_value_heads(), 1);
    }
    // The lifetime of a product of slices of such heads, which is not needed once the heads are
    // whole.
    Lifetime of_slices(Lifetime of_whole) const {
        return layouts.ranks_of_head() > 1 ? Lifetime::slot : of_whole;
    }

    // A kernel over whole values.
    void kernel(std::string_view name,
                const KernelCall& call,
                Cause cause,
                const std::vector<const Value*>& reads,
                const std::vector<const Value*>& writes,
                const std::vector<TensorId>& weights = {},
                const std::vector<TensorId>& accumulates = {});

    // The value in another layout: itself if nothing is to be done or a slice does, else the
    // collectives that the transition needs. With `pieces` > 1 the first collective is chunked.
    Value relayout(std::string_view name,
                   const Value& v,
                   const Layout& to,
                   Lifetime lifetime = Lifetime::slot,
                   std::size_t pieces = 1,
                   Reduction reduction = Reduction::sum);
    // The same of rows of tokens, which `exchange` says how to move; `launches`: host calls of the
    // exchange.
    Value relayout_rows(std::string_view name,
                        const Value& v,
                        const Layout& to,
                        Lifetime lifetime,
                        const RowExchange& exchange,
                        std::uint8_t launches);
    // Chunks that overlap a transition with its product: 1 if overlap is off or nothing moves.
    std::size_t overlap_pieces(const Layout& from, const Layout& to) const;
    std::uint8_t launches_of_piece(std::size_t i) const;

    // y = x w, in the layout that the product leaves (x must fit). Chunked like x; with
    // `output_pieces` > 1 chunked so that a following collective can start early. With `into` the
    // product is added to that value (beta = 1), piece by piece. `bias` is added to each row if the
    // model has it.
    Value product(std::string_view name,
                  const Value& x,
                  const Parameter& w,
                  Lifetime lifetime,
                  std::size_t output_pieces = 1,
                  const Value* into = nullptr,
                  const Parameter* bias = nullptr);
    // The columns of one part of w's output once more (Parameter::column_parts).
    void product_part(std::string_view name, const Value& x, const Parameter& w, std::int8_t part);
    // The value lives until the backward pass; its tensor no longer counts this part.
    void keep_without(const Value& v, std::int8_t part);
    // dx = dy w^T.
    Value gradient_product(std::string_view name,
                           const Value& dy,
                           const Parameter& w,
                           const Value* into = nullptr);
    // x in the element type that products with w read: itself, or cast to FP8 (with the transposed
    // copy for the backward pass). Cast before it is gathered, it travels as one byte an element
    // (Transformer Engine's FP8 all-gather).
    Value quantised(std::string_view name,
                    const Value& x,
                    const Parameter& w,
                    Lifetime lifetime = Lifetime::slot);
    // A value that the forward pass has cast already.
    Value as_quantised(Value x, const Parameter& w) const;
    // dw += x^T dy.
    void weight_product(std::string_view name, const Value& x, const Value& dy, Parameter& w);
    // db += column sums of dy.
    void bias_gradient(std::string_view name, const Value& dy, Parameter& bias);

    // The traffic of activations that are moved over these digits.
    Traffic traffic_over(std::uint32_t digits) const;

private:
    bool holds_rows_of_others(const Layout& layout) const;
    // Ranks whose rows such a layout brings together.
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
        bool transposed;        // B is the stored weight's transpose
        const Parameter* bias;  // or null
    };
    void chunked_gemm(std::string_view name,
                      const Value& given,
                      const Value& y,
                      const Parameter& w,
                      GemmExtent extent,
                      bool accumulate);
    Dtype gemm_dtype(const Parameter& w) const;
    // The rows of x that each expert of the rank has; w is of experts.
    std::vector<std::int64_t> rows_of_experts(const Value& x, const Parameter& w) const;
    KernelCall product_call(const Value& x,
                            const Parameter& w,
                            const GemmExtent& extent,
                            std::int64_t chunks) const;
    KernelCall weight_product_call(const Value& dy, const Parameter& w, bool fused) const;
};

}  // namespace orrery
