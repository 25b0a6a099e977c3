// SPDX-License-Identifier: Apache-2.0
#include "models/segments/block_builder.h"

#include <algorithm>

#include "engine/base/check.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/residual/residual.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

// The hardware that moves the pieces of an overlapped exchange: the defaults of Transformer
// Engine's user buffers (transformer_engine/pytorch/module/base.py, initialize_ub). A gather is a
// `ring_exchange` with use_ce: cudaMemcpyAsync moves the data, and kernels of one thread set the
// flags (userbuffers.cu, userbuffers_send). A reduce-scatter is a `pipeline` on 16 SMs, which the
// concurrent products do not use (set_sm_margin).
constexpr std::uint16_t kOverlappedReduceSms = 16;

Mover mover_of_pieces(CollectiveKind kind) {
    return kind == CollectiveKind::all_gather ? Mover{.engine = TransferEngine::copy_engine}
                                              : Mover{.sm_limit = kOverlappedReduceSms};
}

std::string piece_name(std::string_view name, std::size_t i, std::size_t pieces) {
    return pieces == 1 ? std::string{name} : std::string{name} + "[" + std::to_string(i) + "]";
}

// Adds the tensor with each matrix's number of rows, if that is data.
void add_counts(OpSpec& spec, const Value& x, const Parameter& w) {
    if (w.of_experts() && x.rows.counts) {
        spec.reads.push_back(x.rows.counts->held);
    }
}

// Experts that add a call to a product of all experts. On GB200 two products forward take the host
// 1.2 ms for 64 experts and four backward 2.1 ms (TransformerEngine issue 2897, of its fused
// block), 8 to 9 us for an expert and product. A call of Transformer Engine's linear layer takes
// 99.7 us there (issue 2053).
constexpr std::int64_t kExpertsOfCall = 12;
// Products with block scales: Transformer Engine calls cuBLAS for each of eight experts in 267 us,
// and CUTLASS once for all in 69 us (TransformerEngine pull request 3134, NVFP4 on Blackwell): 25
// us for an expert.
constexpr std::int64_t kScaledExpertsOfCall = 4;

bool calls_by_expert(const ParallelPlan& plan) {
    return plan.precision == Dtype::fp8 && plan.fp8_recipe == Fp8Recipe::mxfp8 &&
           !plan.moe_fused_activation;
}

std::uint8_t calls_of(const BlockBuilder& b, const Parameter& w, std::uint8_t calls) {
    const bool more = calls > 0 && w.of_experts() && b.plan.ops_are_calls();
    const std::int64_t experts = more ? b.local_experts(w) : 0;
    const std::int64_t of_call = calls_by_expert(b.plan) ? kScaledExpertsOfCall : kExpertsOfCall;
    return static_cast<std::uint8_t>(std::min<std::int64_t>(calls + experts / of_call, 255));
}

std::vector<TensorId> tensors_of(const std::vector<const Value*>& values) {
    std::vector<TensorId> tensors;
    for (const Value* v : values) {
        if (!v->empty()) {
            tensors.push_back(v->tensor);
        }
    }
    return tensors;
}

}  // namespace

BlockBuilder::BlockBuilder(ProgramTables& tables,
                           const Transformer& model_in,
                           const ParallelPlan& plan_in,
                           const LayoutAssignment& layouts_in,
                           std::string segment_name)
    : model(model_in), plan(plan_in), layouts(layouts_in), ops(tables, std::move(segment_name)) {}

std::int64_t BlockBuilder::local_extent(std::int64_t extent, int dim, const Layout& layout) const {
    return orrery::local_extent(extent, dim, layout, layouts.mesh);
}

Value BlockBuilder::value(std::string_view name,
                          std::int64_t width,
                          const Layout& layout,
                          Lifetime lifetime,
                          std::size_t pieces) {
    return value(
        name, width, layout, lifetime, activation_dtype(), TensorKind::activations, pieces);
}

Value BlockBuilder::value(std::string_view name,
                          std::int64_t width,
                          const Layout& layout,
                          Lifetime lifetime,
                          Dtype dtype,
                          TensorKind kind,
                          std::size_t pieces) {
    // The number of blocks that a gather over the ranks of the residual stream's sequence collects.
    const std::int64_t blocks = local_extent(model.seq_length, kSequence, layout) /
                                local_extent(model.seq_length, kSequence, layouts.residual);
    const std::vector<std::int64_t> shape{model.seq_length, batch_of_all_ranks(), width};
    Value v = shaped_value(name, shape, layout, lifetime, dtype, kind, blocks);
    v.pieces = pieces;
    return v;
}

std::int64_t BlockBuilder::batch_of_all_ranks() const {
    std::int64_t batch = plan.micro_batch_size;
    for (std::uint32_t digit = 0; digit < layouts.tokens.size(); ++digit) {
        if (layouts.tokens[digit] == sharded(kBatch)) {
            batch *= layouts.mesh.size(digit);
        }
    }
    return batch;
}

Value BlockBuilder::value_like(const Value& x,
                               std::string_view name,
                               std::int64_t width,
                               const Layout& layout,
                               Lifetime lifetime,
                               Dtype dtype,
                               TensorKind kind,
                               std::size_t pieces) {
    return x.of_experts() ? rows_value(name, x.rows, width, layout, lifetime, dtype, kind)
                          : value(name, width, layout, lifetime, dtype, kind, pieces);
}

Value BlockBuilder::shaped_value(std::string_view name,
                                 std::vector<std::int64_t> shape,
                                 const Layout& layout,
                                 Lifetime lifetime,
                                 Dtype dtype,
                                 TensorKind kind,
                                 std::int64_t sequence_blocks) {
    Value v{.tensor = {}, .pieces = 1, .layout = layout, .shape = std::move(shape), .dtype = dtype};
    const std::int64_t elements = local_elements(v.shape, layout, layouts.mesh);
    v.tensor = ops.tables().tensor({
        .name = std::string{name},
        .parameter = {},
        .dtype = dtype,
        .kind = kind,
        .lifetime = recomputing ? Lifetime::slot : lifetime,
        .global_shape = v.shape,
        .layout = layout,
        .column_parts = {},
        .sequence_blocks = sequence_blocks,
        .bytes = Bytes{elements * size_bytes(dtype)},
    });
    return v;
}

void BlockBuilder::set_column_parts(Value& v, std::vector<std::int64_t> parts) {
    ops.tables().program().tensors[index(v.tensor)].column_parts = parts;
    v.column_parts = std::move(parts);
}

void BlockBuilder::set_random(const Value& v, RandomPurpose purpose, std::int64_t layer) {
    Tensor& tensor = ops.tables().program().tensors[index(v.tensor)];
    tensor.random_purpose = static_cast<std::int32_t>(purpose);
    tensor.random_stream = static_cast<std::int32_t>(layer);
}

std::vector<TensorId> BlockBuilder::dropout_scalars() {
    return model.dropout > 0 ? std::vector<TensorId>{ops.tables().scalars()}
                             : std::vector<TensorId>{};
}

void BlockBuilder::outlive_slot(const Value& v) {
    ops.tables().program().tensors[index(v.tensor)].lifetime = Lifetime::micro_batch;
}

void BlockBuilder::kernel(std::string_view name,
                          const KernelCall& call,
                          Cause cause,
                          const std::vector<const Value*>& reads,
                          const std::vector<const Value*>& writes,
                          const std::vector<TensorId>& weights,
                          const std::vector<TensorId>& accumulates) {
    OpSpec spec{.name = std::string{name},
                .stream = kComputeStream,
                .cause = recomputing ? Cause::recomputation : cause,
                .reads = tensors_of(reads),
                .writes = tensors_of(writes),
                .accumulates = accumulates,
                .launches = calls_of_kernels};
    spec.reads.insert(spec.reads.end(), weights.begin(), weights.end());
    ops.kernel(call, spec);
}

Traffic BlockBuilder::traffic_over(std::uint32_t digits) const {
    if ((digits & ~layouts.mesh.axis("cp")) == 0) {
        return Traffic::context;
    }
    return (digits & layouts.state.data_digits) != 0 ? Traffic::data : Traffic::tensor;
}

std::size_t BlockBuilder::overlap_pieces(const Layout& from, const Layout& to) const {
    const bool moves = !transition(from, to).empty();
    return plan.tp_comm_overlap && moves ? static_cast<std::size_t>(plan.tp_comm_overlap_chunks)
                                         : 1;
}

// One call of an eager framework issues all pieces (Transformer Engine's userbuffers).
std::uint8_t BlockBuilder::launches_of_piece(std::size_t i) const {
    return i > 0 && plan.ops_are_calls() ? 0 : calls_of_products;
}

Value BlockBuilder::relayout(std::string_view name,
                             const Value& v,
                             const Layout& to,
                             Lifetime lifetime,
                             std::size_t pieces,
                             Reduction reduction) {
    const auto elements = [&](const Layout& layout) {
        std::vector<std::int64_t> shape = v.shape;
        if (v.of_experts()) {
            const bool with_experts = digits_with(layout, Placement::routed) != 0;
            shape[kSequence] = with_experts ? v.rows.with_experts : v.rows.with_tokens;
        }
        return local_elements(shape, layout, layouts.mesh);
    };
    Value now = v;
    for (const RelayoutStep& step : relayout_steps(v.layout, to, elements)) {
        // An exchange of heads needs all tokens.
        const bool exchange = step.step.kind == CollectiveKind::all_to_all;
        const std::size_t chunks = exchange ? 1 : std::max(pieces, now.pieces);
        Value moved = value_like(v,
                                 name,
                                 v.shape[kWidth],
                                 step.to,
                                 lifetime,
                                 v.dtype,
                                 kind_of_received(lifetime),
                                 chunks);
        if (!v.of_experts()) {
            moved.shape = v.shape;
        }
        set_column_parts(moved, v.column_parts);
        for (std::size_t i = 0; i < chunks; ++i) {
            emit(ops,
                 step,
                 {.traffic = v.of_experts() ? Traffic::expert : traffic_over(step.step.digits),
                  .wire = v.dtype,
                  .pieces = static_cast<std::int64_t>(chunks),
                  .mover = chunks == 1 ? Mover{} : mover_of_pieces(step.step.kind),
                  .reduction = reduction},
                 {.name = piece_name(name, i, chunks),
                  .reads = {now.tensor},
                  .writes = {moved.tensor},
                  .accumulates = {},
                  .launches = launches_of_piece(i),
                  .in_pieces = {now.tensor, moved.tensor},
                  .piece = static_cast<std::uint16_t>(i),
                  .pieces = static_cast<std::uint16_t>(chunks)});
        }
        now = std::move(moved);
    }
    now.layout = to;  // only slices remain to be taken
    return now;
}

Dtype BlockBuilder::gemm_dtype(const Parameter& w) const {
    // FP8 recipes keep the embedding and the output layer in 16 bits.
    const bool inside_block =
        w.layer >= 0 && w.layer < model.num_layers + model.mtp_num_layers && !w.in_16_bits;
    return inside_block ? plan.precision : activation_dtype();
}

void BlockBuilder::chunked_gemm(std::string_view name,
                                const Value& x,
                                const Value& y,
                                const Parameter& w,
                                GemmExtent extent,
                                bool accumulate) {
    const std::size_t chunks = std::max(x.pieces, y.pieces);
    const KernelCall call = product_call(x, w, extent, static_cast<std::int64_t>(chunks));
    for (std::size_t i = 0; i < chunks; ++i) {
        OpSpec spec{.name = piece_name(name, i, chunks),
                    .stream = kComputeStream,
                    .cause = recomputing ? Cause::recomputation : Cause::gemm_inefficiency,
                    .reads = {x.tensor, w.weight},
                    .writes = {},
                    .accumulates = {},
                    .launches = calls_of(*this, w, launches_of_piece(i)),
                    .in_pieces = {x.tensor, y.tensor},
                    .piece = static_cast<std::uint16_t>(i),
                    .pieces = static_cast<std::uint16_t>(chunks)};
        if (extent.transposed) {
            spec.transposed = {w.weight};
        }
        if (extent.bias != nullptr && extent.bias->elements > 0) {
            spec.reads.push_back(extent.bias->weight);
        }
        add_counts(spec, x, w);
        (accumulate ? spec.accumulates : spec.writes).push_back(y.tensor);
        ops.kernel(call, spec);
    }
}

Value BlockBuilder::product(std::string_view name,
                            const Value& x,
                            const Parameter& w,
                            Lifetime lifetime,
                            std::size_t output_pieces,
                            const Value* into,
                            const Parameter* bias) {
    Value y = into != nullptr ? *into
                              : value_like(x,
                                           name,
                                           w.shape[kOutput],
                                           gemm_output(x.layout, w.layout),
                                           lifetime,
                                           activation_dtype(),
                                           TensorKind::activations,
                                           std::max(output_pieces, x.pieces));
    if (into == nullptr) {
        set_column_parts(y, w.column_parts);
    }
    if (plan.autocast) {
        framework_ops(std::string{name} + " cast", w.weight, cast_bytes_of(w));
    }
    chunked_gemm(
        name,
        quantised_input(name, x, w),
        y,
        w,
        {.n = local_output(w), .k = local_input(w), .transposed = w.transposed, .bias = bias},
        into != nullptr);
    return y;
}

void BlockBuilder::product_part(std::string_view name,
                                const Value& given,
                                const Parameter& w,
                                std::int8_t part) {
    const Value x = quantised_input(name, given, w);
    const std::int64_t columns = w.column_parts[static_cast<std::size_t>(part)];
    const std::string text = std::string{name} + " part";
    const Value y = value(text, columns, gemm_output(x.layout, w.layout), Lifetime::slot);
    ops.kernel(gemm(local_tokens(x),
                    local_output(w) * columns / w.shape[kOutput],
                    local_input(w),
                    1,
                    gemm_dtype(w),
                    GemmEpilogue::none,
                    activation_dtype()),
               {.name = text,
                .stream = kComputeStream,
                .cause = recomputing ? Cause::recomputation : Cause::gemm_inefficiency,
                .reads = {x.tensor, w.weight},
                .writes = {y.tensor},
                .accumulates = {},
                .read_parts = {-1, part}});
}

void BlockBuilder::keep_without(const Value& v, std::int8_t part) {
    Tensor& tensor = ops.tables().program().tensors[index(v.tensor)];
    const std::int64_t columns = v.column_parts[static_cast<std::size_t>(part)];
    tensor.bytes = Bytes{tensor.bytes.count() * (v.shape[kWidth] - columns) / v.shape[kWidth]};
}

Value BlockBuilder::gradient_product(std::string_view name,
                                     const Value& dy,
                                     const Parameter& w,
                                     const Value* into) {
    const Value dx = into != nullptr ? *into
                                     : value_like(dy,
                                                  name,
                                                  w.shape[kInput],
                                                  gemm_gradient_output(dy.layout, w.layout),
                                                  Lifetime::slot,
                                                  activation_dtype(),
                                                  TensorKind::activations,
                                                  dy.pieces);
    chunked_gemm(
        name,
        quantised_input(name, dy, w),
        dx,
        w,
        {.n = local_input(w), .k = local_output(w), .transposed = !w.transposed, .bias = nullptr},
        into != nullptr);
    return dx;
}

void BlockBuilder::weight_product(std::string_view name,
                                  const Value& given,
                                  const Value& gradient,
                                  Parameter& w) {
    const Value x = as_quantised(given, w);
    const Value dy = as_quantised(gradient, w);
    w.gradient_layout = weight_gradient(x.layout, dy.layout);
    const bool fused = plan.fuses_gradients(w.of_experts());
    const KernelCall call = weight_product_call(dy, w, fused);
    const std::string text{name};
    OpSpec spec{.name = text,
                .stream = kComputeStream,
                .cause = Cause::gemm_inefficiency,
                .reads = tensors_of({&x, &dy}),
                .writes = {},
                .accumulates = {},
                .launches = calls_of(*this, w, calls_of_products),
                .transposed = {x.tensor}};
    add_counts(spec, x, w);
    if (fused) {
        spec.accumulates = {w.gradient};
        if (w.transposed) {
            spec.transposed.push_back(w.gradient);
        }
        ops.kernel(call, spec);
        return;
    }
    const TensorId product = made_gradient(text, w, activation_dtype());
    spec.writes = {product};
    if (w.transposed) {
        spec.transposed.push_back(product);
    }
    ops.kernel(call, spec);
    add_made_gradient(text, product, w, activation_dtype());
}

TensorId BlockBuilder::made_gradient(const std::string& text, const Parameter& w, Dtype dtype) {
    if (state_of(layouts, w).hands_over_gradients && !w.used_twice) {
        return w.gradient;
    }
    return ops.tables().tensor({.name = text,
                                .parameter = {},
                                .dtype = dtype,
                                .kind = TensorKind::gradients,
                                .lifetime = plan.clear_lp_grads ? Lifetime::slot : Lifetime::step,
                                .global_shape = w.shape,
                                .layout = w.gradient_layout,
                                .bytes = Bytes{elements_of_gradient(w) * size_bytes(dtype)}});
}

void BlockBuilder::add_made_gradient(const std::string& text,
                                     TensorId made,
                                     const Parameter& w,
                                     Dtype dtype) {
    if (made == w.gradient) {
        return;
    }
    if (plan.autocast && dtype != Dtype::fp32) {
        framework_ops(text + " cast", made, cast_bytes_of(w));
    }
    const std::int64_t elements = elements_of_gradient(w);
    if (!plan.clear_lp_grads) {
        operators_of_kept_gradient(text, made, elements);
    }
    const Value dw{
        .tensor = made, .pieces = 1, .layout = w.layout, .shape = w.shape, .dtype = dtype};
    kernel(text + " accumulate",
           gradient_accumulate(elements, dtype, plan.gradient_dtype),
           Cause::memory_bound_kernels,
           {&dw},
           {},
           {},
           {w.gradient});
}

// What PyTorch runs besides the sum of a gradient that a pass keeps (plan.clear_lp_grads,
// zero_lp_grads). The sum then reads the fp32 copy that the cast wrote, four bytes an element in
// place of two. The copies are made behind the pass, where they raise no peak.
void BlockBuilder::operators_of_kept_gradient(const std::string& text,
                                              TensorId gradient,
                                              std::int64_t elements) {
    const std::int64_t short_type = size_bytes(activation_dtype());
    if (plan.zero_lp_grads) {
        framework_ops(text + " zero", gradient, elements * short_type, 1);
        framework_ops(text + " add", gradient, elements * 3 * short_type, 1);
    }
    const std::int64_t more = size_bytes(Dtype::fp32) - short_type;  // in the sum
    framework_ops(
        text + " cast", gradient, elements * (short_type + size_bytes(Dtype::fp32) + more), 1);
}

void BlockBuilder::bias_gradient(std::string_view name, const Value& dy, Parameter& bias) {
    Layout ones = dy.layout;  // a bias is the weight of a column of ones
    for (DigitPlacement& p : ones) {
        p = p == sharded(kWidth) ? replicated() : p;
    }
    bias.gradient_layout = weight_gradient(ones, dy.layout);
    kernel(name,
           orrery::bias_gradient(local_tokens(dy), local_width(dy), dy.dtype),
           Cause::memory_bound_kernels,
           {&dy},
           {},
           {},
           {bias.gradient});
}

}  // namespace orrery
