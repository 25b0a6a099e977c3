// SPDX-License-Identifier: Apache-2.0
#include "models/layer_lowering.h"

#include "kernels/activation/activation.h"
#include "kernels/residual/residual.h"

namespace orrery {
namespace {

constexpr auto kMemoryBound = Cause::memory_bound_kernels;

// A gated activation as two kernels: the function of the gate (part 0 of fc1) and, in a backward
// pass of `dy`, dy times its slope and its value; then the product with up (part 1) in place, of
// dfc1 with its gate's columns.
void gate_activation_ops(BlockBuilder& b,
                         const KernelCall& call,
                         const Value& dy,
                         const Value& fc1,
                         const Value& result,
                         Cause cause) {
    constexpr std::int8_t kAll = -1;
    constexpr std::int8_t kGate = 0;
    constexpr std::int8_t kUp = 1;
    const bool back = !dy.empty();
    b.ops.kernel(call,
                 {.name = back ? "activation backward" : "activation",
                  .stream = kComputeStream,
                  .cause = cause,
                  .reads = back ? std::vector{dy.tensor, fc1.tensor} : std::vector{fc1.tensor},
                  .writes = {result.tensor},
                  .accumulates = {},
                  .read_parts = back ? std::vector{kAll, kGate} : std::vector{kGate}});
    b.ops.kernel(residual_add(call.dims[0], call.dims[1], fc1.dtype),
                 {.name = back ? "activation product backward" : "activation product",
                  .stream = kComputeStream,
                  .cause = cause,
                  .reads = {fc1.tensor},
                  .writes = {},
                  .accumulates = {result.tensor},
                  .read_parts = {kUp}});
}

Value activation_forward(BlockBuilder& b, const Value& fc1, Lifetime lifetime) {
    Value y = b.value("activation", b.model.ffn_hidden_size, fc1.layout, lifetime);
    const std::int64_t tokens = b.local_tokens(fc1);
    const std::int64_t ffn = b.local_width(y);
    const bool variant =
        b.model.activation == Activation::squared_relu || b.model.activation == Activation::geglu;
    const bool fused = b.plan.fused_activation || b.plan.compiled;
    if (b.model.gated_mlp() && !fused) {
        const Cause cause = b.recomputing ? Cause::recomputation : kMemoryBound;
        gate_activation_ops(b, swiglu_forward(tokens, ffn, fc1.dtype, variant), {}, fc1, y, cause);
        return y;
    }
    if (b.model.gated_mlp()) {
        b.kernel("activation",
                 swiglu_forward(tokens, ffn, fc1.dtype, variant),
                 kMemoryBound,
                 {&fc1},
                 {&y});
        return y;
    }
    if (!fused && b.model.add_bias_linear) {
        b.kernel("activation bias",
                 gelu_forward(tokens, ffn, fc1.dtype, variant),
                 kMemoryBound,
                 {&fc1},
                 {&y});
    }
    b.kernel(
        "activation", gelu_forward(tokens, ffn, fc1.dtype, variant), kMemoryBound, {&fc1}, {&y});
    return y;
}

Value activation_backward(BlockBuilder& b, const Value& dy, const Value& fc1, Lifetime lifetime) {
    Value dx = b.value("activation backward", fc1.shape[kWidth], fc1.layout, lifetime);
    const std::int64_t tokens = b.local_tokens(dy);
    const std::int64_t ffn = b.local_width(dy);
    const bool variant =
        b.model.activation == Activation::squared_relu || b.model.activation == Activation::geglu;
    const KernelCall call = b.model.gated_mlp() ? swiglu_backward(tokens, ffn, fc1.dtype, variant)
                                                : gelu_backward(tokens, ffn, fc1.dtype, variant);
    if (b.model.gated_mlp() && !b.plan.fused_activation && !b.plan.compiled) {
        gate_activation_ops(b, call, dy, fc1, dx, kMemoryBound);
        return dx;
    }
    b.kernel("activation backward", call, kMemoryBound, {&dy, &fc1}, {&dx});
    return dx;
}

// A branch's output product: partial sums or slices, brought back to the residual layout.
Value branch_output(BlockBuilder& b, std::string_view name, const Value& x, const Parameter& w) {
    const std::size_t pieces =
        b.overlap_pieces(gemm_output(x.layout, w.layout), b.layouts.residual);
    const Value y = b.product(name, x, w, Lifetime::slot, pieces);
    return b.relayout(std::string{name} + " reduce", y, b.layouts.residual, Lifetime::slot);
}

Value gather_input(BlockBuilder& b, std::string_view name, const Value& x, const Parameter& w) {
    const Layout needed = gemm_input(x.layout, w.layout);
    return b.relayout(std::string{name} + " gather",
                      b.quantised(name, x, w),
                      needed,
                      Lifetime::slot,
                      b.overlap_pieces(x.layout, needed));
}

// dy of a row-parallel product where both gradients read it.
Value gather_gradient(BlockBuilder& b,
                      std::string_view name,
                      const Value& dy,
                      const Parameter& w,
                      Lifetime lifetime) {
    const Layout needed = gemm_gradient_input(dy.layout, w.layout);
    return b.relayout(std::string{name} + " gather",
                      b.quantised(name, dy, w, lifetime),
                      needed,
                      lifetime,
                      b.overlap_pieces(dy.layout, needed));
}

void weight_gradient_op(BlockBuilder& b,
                        std::string_view name,
                        const Value& x,
                        const Value& dy,
                        Parameter& w,
                        Deferred* deferred) {
    if (deferred == nullptr) {
        b.weight_product(name, x, dy, w);
        return;
    }
    w.gradient_layout = weight_gradient(x.layout, dy.layout);
    b.outlive_slot(x);
    b.outlive_slot(dy);
    const auto run = [name = std::string{name}, x, dy, &w](BlockBuilder& later) {
        later.weight_product(name, x, dy, w);
    };
    deferred->push_back({.weights = {&w}, .run = run});
}

// The weight products of column_backward(), for later: x is gathered again then.
void defer_column_products(BlockBuilder& b,
                           const Value& x,
                           const Layout& needed,
                           const std::vector<ColumnBranch>& branches,
                           Deferred& deferred) {
    struct Product {
        std::string name;
        Value dy;
        Parameter* weight;
    };
    std::vector<Product> products;
    std::vector<Parameter*> weights;
    b.outlive_slot(x);
    for (const ColumnBranch& branch : branches) {
        b.outlive_slot(*branch.dy);
        branch.weight->gradient_layout = weight_gradient(needed, branch.dy->layout);
        products.push_back({std::string{branch.name}, *branch.dy, branch.weight});
        weights.push_back(branch.weight);
    }
    const auto run = [x, needed, products = std::move(products)](BlockBuilder& later) {
        const Value gathered = later.relayout(products.front().name + " regather",
                                              later.as_quantised(x, *products.front().weight),
                                              needed);
        for (const Product& product : products) {
            later.weight_product(product.name + " wgrad", gathered, product.dy, *product.weight);
        }
    };
    deferred.push_back({.weights = std::move(weights), .run = run});
}

// Leaves a branch's output to be added to the stream, with the biases of the row-sharded products
// that made it (added once, after their partial sums). Returns the mask that the addition will
// make.
Value set_pending(BlockBuilder& b,
                  ResidualStream& stream,
                  Value branch,
                  const std::vector<const Parameter*>& biases,
                  Lifetime lifetime,
                  RandomPurpose purpose,
                  std::int64_t layer) {
    stream.pending = std::move(branch);
    for (const Parameter* bias : biases) {
        if (bias->elements > 0) {
            stream.biases.push_back(bias->weight);
        }
    }
    if (b.model.dropout > 0) {
        stream.mask = b.value("dropout mask",
                              b.model.hidden_size,
                              stream.pending.layout,
                              lifetime,
                              Dtype::uint8,
                              TensorKind::activations);
        b.set_random(stream.mask, purpose, layer);
    }
    return stream.mask;
}

Value branch_gradient(BlockBuilder& b,
                      std::string_view name,
                      const Value& dout,
                      const Value& mask) {
    if (b.model.dropout <= 0) {
        return dout;
    }
    Value dy = b.value(name, dout.shape[kWidth], dout.layout, Lifetime::slot);
    b.kernel(name,
             dropout(b.local_tokens(dout), b.local_width(dout), dout.dtype),
             kMemoryBound,
             {&dout, &mask},
             {&dy},
             b.dropout_scalars());
    return dy;
}

}  // namespace

std::vector<Parameter*> LayerParameters::present() {
    std::vector<Parameter*> found;
    for (Parameter* p : {&norm1,
                         &qkv,
                         &qkv_bias,
                         &projection,
                         &projection_bias,
                         &norm2,
                         &fc1,
                         &fc1_bias,
                         &fc2,
                         &fc2_bias}) {
        if (p->elements > 0) {
            found.push_back(p);
        }
    }
    return found;
}

Value column_backward(BlockBuilder& b,
                      const Value& x,
                      const std::vector<ColumnBranch>& branches,
                      Deferred* deferred) {
    const std::string first{branches.front().name};
    const Layout needed = gemm_input(x.layout, branches.front().weight->layout);
    // Megatron-LM hides the gather of x behind dX and the reduction of dX behind dW; without that,
    // compute waits for each.
    const bool async = b.plan.async_tensor_model_parallel_allreduce || b.plan.tp_comm_overlap;
    const auto wait_if_blocking = [&](const Value& before, const Value& after) {
        if (!async && before.tensor != after.tensor) {
            b.ops.next_waits_for(b.ops.size() - 1);
        }
    };
    Value gathered;
    if (deferred == nullptr) {
        gathered =
            b.relayout(first + " regather", b.as_quantised(x, *branches.front().weight), needed);
        wait_if_blocking(x, gathered);
    }
    Value sum;
    for (const ColumnBranch& branch : branches) {
        sum = b.gradient_product(std::string{branch.name} + " dgrad",
                                 *branch.dy,
                                 *branch.weight,
                                 sum.empty() ? nullptr : &sum);
    }
    const Value dx = b.relayout(first + " dgrad reduce", sum, x.layout);
    wait_if_blocking(sum, dx);
    if (deferred != nullptr) {
        defer_column_products(b, x, needed, branches, *deferred);
    }
    for (const ColumnBranch& branch : branches) {
        const std::string text{branch.name};
        if (deferred == nullptr) {
            b.weight_product(text + " wgrad", gathered, *branch.dy, *branch.weight);
        }
        if (branch.bias->elements > 0) {
            b.bias_gradient(text + " bias gradient", *branch.dy, *branch.bias);
        }
    }
    return dx;
}

LayerActivations layer_forward(BlockBuilder& b,
                               LayerParameters& p,
                               std::int64_t layer,
                               ResidualStream& stream) {
    const Lifetime saved =
        b.plan.recompute_granularity == Recompute::full ? Lifetime::slot : Lifetime::micro_batch;
    LayerActivations a;
    a.input = stream;
    a.norm1 = norm_forward(b, "norm 1", stream, p.norm1, saved, a.before_norm1);
    Value gathered = gather_input(b, "qkv", a.norm1, p.qkv);
    a.qkv = b.product("qkv", gathered, p.qkv, b.of_slices(saved), 1, nullptr, &p.qkv_bias);
    attention_forward_ops(b, layer, a);
    if (b.model.parallel_block) {
        // Both branches read the same gathered input, and their partial sums are added before one
        // reduction: half the tensor-parallel communication.
        a.fc1 = b.product("fc1", gathered, p.fc1, saved, 1, nullptr, &p.fc1_bias);
        a.activated = activation_forward(b, a.fc1, saved);
        const std::size_t pieces = b.overlap_pieces(
            gemm_output(a.context.layout, p.projection.layout), b.layouts.residual);
        const Value sum = b.product("projection", a.context, p.projection, Lifetime::slot, pieces);
        b.product("fc2", a.activated, p.fc2, Lifetime::slot, pieces, &sum);
        a.mlp_mask = set_pending(b,
                                 stream,
                                 b.relayout("branch reduce", sum, b.layouts.residual),
                                 {&p.projection_bias, &p.fc2_bias},
                                 saved,
                                 RandomPurpose::mlp_dropout,
                                 layer);
        return a;
    }
    a.projection_mask = set_pending(b,
                                    stream,
                                    branch_output(b, "projection", a.context, p.projection),
                                    {&p.projection_bias},
                                    saved,
                                    RandomPurpose::projection_dropout,
                                    layer);
    a.norm2 = norm_forward(b, "norm 2", stream, p.norm2, saved, a.before_norm2);
    gathered = gather_input(b, "fc1", a.norm2, p.fc1);
    a.fc1 = b.product("fc1", gathered, p.fc1, saved, 1, nullptr, &p.fc1_bias);
    a.activated = activation_forward(b, a.fc1, saved);
    a.mlp_mask = set_pending(b,
                             stream,
                             branch_output(b, "fc2", a.activated, p.fc2),
                             {&p.fc2_bias},
                             saved,
                             RandomPurpose::mlp_dropout,
                             layer);
    return a;
}

namespace {

// From the gradient of the MLP's output to that of fc1's output.
Value mlp_backward(BlockBuilder& b,
                   LayerParameters& p,
                   const LayerActivations& saved,
                   const Value& dy,
                   const Value& gathered,
                   Deferred* deferred) {
    const Lifetime lifetime = deferred == nullptr ? Lifetime::slot : Lifetime::micro_batch;
    const Value dactivated = b.gradient_product("fc2 dgrad", gathered, p.fc2);
    weight_gradient_op(b, "fc2 wgrad", saved.activated, gathered, p.fc2, deferred);
    if (p.fc2_bias.elements > 0) {
        b.bias_gradient("fc2 bias gradient", dy, p.fc2_bias);
    }
    return activation_backward(b, dactivated, saved.fc1, lifetime);
}

// From the gradient of the projection's output to that of the QKV product.
Value attention_backward(BlockBuilder& b,
                         LayerParameters& p,
                         std::int64_t layer,
                         LayerActivations& saved,
                         const Value& dy,
                         const Value& gathered,
                         Deferred* deferred) {
    const Value dcontext = b.gradient_product("projection dgrad", gathered, p.projection);
    weight_gradient_op(b, "projection wgrad", saved.context, gathered, p.projection, deferred);
    if (p.projection_bias.elements > 0) {
        b.bias_gradient("projection bias gradient", dy, p.projection_bias);
    }
    const Lifetime lifetime = deferred == nullptr ? Lifetime::slot : Lifetime::micro_batch;
    return attention_backward_ops(b, layer, saved, dcontext, lifetime);
}

}  // namespace

Value layer_backward(BlockBuilder& b,
                     LayerParameters& p,
                     std::int64_t layer,
                     LayerActivations& saved,
                     const Value& dout,
                     Deferred* deferred) {
    const Lifetime kept = deferred == nullptr ? Lifetime::slot : Lifetime::micro_batch;
    const Value dmlp = branch_gradient(b, "dropout 2 backward", dout, saved.mlp_mask);
    const Value gathered = gather_gradient(b, "fc2 backward", dmlp, p.fc2, kept);
    const Value dfc1 = mlp_backward(b, p, saved, dmlp, gathered, deferred);
    const ColumnBranch fc1{"fc1", &dfc1, &p.fc1, &p.fc1_bias};
    if (b.model.parallel_block) {
        const Value dqkv = attention_backward(b, p, layer, saved, dmlp, gathered, deferred);
        const Value dn =
            column_backward(b, saved.norm1, {fc1, {"qkv", &dqkv, &p.qkv, &p.qkv_bias}}, deferred);
        return norm_backward(b, "norm 1 backward", dn, saved.before_norm1, dout, p.norm1);
    }
    const Value dn2 = column_backward(b, saved.norm2, {fc1}, deferred);
    const Value dmiddle =
        norm_backward(b, "norm 2 backward", dn2, saved.before_norm2, dout, p.norm2);
    const Value dattention =
        branch_gradient(b, "dropout 1 backward", dmiddle, saved.projection_mask);
    const Value gathered2 =
        gather_gradient(b, "projection backward", dattention, p.projection, kept);
    const Value dqkv = attention_backward(b, p, layer, saved, dattention, gathered2, deferred);
    const Value dn1 =
        column_backward(b, saved.norm1, {{"qkv", &dqkv, &p.qkv, &p.qkv_bias}}, deferred);
    return norm_backward(b, "norm 1 backward", dn1, saved.before_norm1, dmiddle, p.norm1);
}

}  // namespace orrery
