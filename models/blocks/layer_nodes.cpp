// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/layer_nodes.h"

#include <utility>

#include "engine/base/check.h"
#include "kernels/cast/cast.h"
#include "kernels/residual/residual.h"
#include "models/blocks/activation_lowering.h"
#include "models/blocks/expert_moves.h"
#include "models/plan/recomputation.h"

namespace orrery {
namespace {

constexpr auto kMemoryBound = Cause::memory_bound_kernels;

Value gather_input(
    BlockBuilder& b, std::string_view name, const Value& x, const Parameter& w, Lifetime lifetime) {
    const Layout needed = gemm_input(x.layout, w.layout);
    return b.relayout(std::string{name} + " gather",
                      b.quantised_input(name, x, w),
                      needed,
                      lifetime,
                      b.overlap_pieces(x.layout, needed));
}

// dy of a row-parallel product, in a layout for both gradients.
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

// Defers the weight products of column_backward(). They gather x again, unless it is gathered.
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

// Makes a branch's output the pending summand of the stream, with the biases of its row-sharded
// products (added once, after the products' partial sums). Returns the mask that the addition will
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

void cast_input(BlockBuilder& b, const Value& x, const Value& y) {
    b.kernel("activation input cast",
             cast(b.local_tokens(x) * b.local_width(x), x.dtype, y.dtype),
             Cause::memory_bound_kernels,
             {&x},
             {&y});
}

}  // namespace

void add_gradient(BlockBuilder& b, Edge& edge, const Value& gradient) {
    if (edge.gradient.empty()) {
        edge.gradient = gradient;
        return;
    }
    b.kernel("gradient sum",
             residual_add(b.local_tokens(gradient), b.local_width(gradient), gradient.dtype),
             kMemoryBound,
             {&gradient},
             {},
             {},
             {edge.gradient.tensor});
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

bool keeps_gathered(const BlockBuilder& b) {
    return !b.plan.async_tensor_model_parallel_allreduce;
}

Value column_backward(BlockBuilder& b,
                      const Value& x,
                      const Value& kept,
                      const std::vector<ColumnBranch>& branches,
                      Deferred* deferred) {
    const std::string first{branches.front().name};
    const Layout needed = gemm_input(x.layout, branches.front().weight->layout);
    // Megatron-LM hides the gather of x behind dX and the reduction of dX behind dW. Without this
    // option, compute waits for both.
    const bool async = b.plan.async_tensor_model_parallel_allreduce || b.plan.tp_comm_overlap;
    const auto wait_if_blocking = [&](const Value& before, const Value& after) {
        if (!async && before.tensor != after.tensor) {
            b.ops.next_waits_for(b.ops.size() - 1);
        }
    };
    Value gathered;
    if (deferred == nullptr) {
        const Value given = b.as_quantised(kept, *branches.front().weight);
        gathered = b.relayout(first + " regather", given, needed);
        wait_if_blocking(given, gathered);
    }
    Value sum;
    for (const ColumnBranch& branch : branches) {
        b.calls_of_products = b.projections_of(*branch.weight);
        sum = b.gradient_product(std::string{branch.name} + " dgrad",
                                 *branch.dy,
                                 *branch.weight,
                                 sum.empty() ? nullptr : &sum);
        for (std::uint8_t more = 1; more < b.calls_of_products; ++more) {
            b.kernel("projection gradient sum",
                     residual_add(b.local_tokens(sum), b.local_width(sum), sum.dtype),
                     kMemoryBound,
                     {},
                     {},
                     {},
                     {sum.tensor});
        }
        b.calls_of_products = 1;
    }
    const Value dx = b.relayout(first + " dgrad reduce", sum, x.layout);
    wait_if_blocking(sum, dx);
    if (deferred != nullptr) {
        defer_column_products(b, kept, needed, branches, *deferred);
    }
    for (const ColumnBranch& branch : branches) {
        const std::string text{branch.name};
        if (deferred == nullptr) {
            b.calls_of_products = b.projections_of(*branch.weight);
            b.weight_product(text + " wgrad", gathered, *branch.dy, *branch.weight);
            b.calls_of_products = 1;
        }
        if (branch.bias->elements > 0) {
            b.bias_gradient(text + " bias gradient", *branch.dy, *branch.bias);
        }
    }
    return dx;
}

void NormNode::forward(ForwardPass& pass) {
    y_.value = norm_forward(pass.b,
                            name_,
                            pass.stream,
                            weight_,
                            {saved(), keeps_output_ ? saved() : Lifetime::slot},
                            before_);
}

void NormNode::run_again(ForwardPass& pass) {
    if (saved() == Lifetime::slot) {
        return forward(pass);
    }
    // The input of the norm has been kept, and so have the statistics.
    ForwardPass sum{pass.b, {.residual = before_.input, .pending = {}, .mask = {}}};
    NormActivations same;
    y_.value =
        norm_forward(pass.b, name_, sum.stream, weight_, {Lifetime::slot, Lifetime::slot}, same);
}

void NormNode::backward(BackwardPass& pass) {
    pass.stream_gradient = norm_backward(
        pass.b, name_ + " backward", y_.gradient, before_, pass.stream_gradient, weight_);
}

void ColumnInputNode::forward(ForwardPass& pass) {
    const Lifetime lifetime = keeps_gathered(pass.b) ? saved() : Lifetime::slot;
    gathered_ = gather_input(pass.b, name_, x_.value, weight_, lifetime);
}

void ColumnInputNode::backward(BackwardPass& pass) {
    // What is not gathered may have been made again since it was read.
    const bool kept = keeps_gathered(pass.b) && gathered_.layout != x_.value.layout;
    const Value dx = column_backward(
        pass.b, x_.value, kept ? gathered_ : x_.value, std::exchange(branches_, {}), pass.deferred);
    add_gradient(pass.b, x_, dx);
}

void ColumnProductNode::forward(ForwardPass& pass) {
    const Lifetime lifetime = own_heads_ ? pass.b.of_own_heads(saved()) : saved();
    pass.b.calls_of_products = pass.b.projections_of(weight_);
    y_.value = pass.b.product(name_, input_.gathered(), weight_, lifetime, 1, nullptr, &bias_);
    pass.b.calls_of_products = 1;
    if (part_ >= 0 && !weight_.column_parts.empty()) {
        pass.b.keep_without(y_.value, part_);
    }
}

void ColumnProductNode::run_again(ForwardPass& pass) {
    if (part_ < 0) {
        return forward(pass);
    }
    if (!weight_.column_parts.empty()) {
        pass.b.product_part(name_, input_.gathered(), weight_, part_);
    }
}

void ColumnProductNode::backward(BackwardPass&) {
    input_.add_branch({name_, &y_.gradient, &weight_, &bias_});
}

void ActivationNode::keep_input_in_fp8(Node& product) {
    if (product.saved() == Lifetime::micro_batch) {
        in_fp8_ = true;
        product.set_saved(Lifetime::slot);
    }
}

void ActivationNode::forward(ForwardPass& pass) {
    make_output(pass.b);
    if (in_fp8_) {
        const Value& x = x_.value;
        kept_input_ = pass.b.value_like(
            x, "activation input", x.shape[kWidth], x.layout, Lifetime::micro_batch, Dtype::fp8);
        cast_input(pass.b, x, kept_input_);
    }
}

void ActivationNode::run_again(ForwardPass& pass) {
    restore_input(pass.b);
    make_output(pass.b);
}

void ActivationNode::restore_input(BlockBuilder& b) {
    if (!in_fp8_ || restored_) {
        return;
    }
    restored_ = true;
    x_.value = b.value_like(kept_input_,
                            "activation input restored",
                            kept_input_.shape[kWidth],
                            kept_input_.layout,
                            Lifetime::slot,
                            b.activation_dtype());
    cast_input(b, kept_input_, x_.value);
}

void ActivationNode::make_output(BlockBuilder& b) {
    const Value* const weights = weights_ == nullptr ? nullptr : &weights_->value;
    const Value& x = x_.value;
    const std::int64_t width = x.shape[kWidth] / (b.model.gated_mlp() ? 2 : 1);
    const Dtype dtype = in_products_ ? Dtype::fp8 : b.activation_dtype();
    const auto made = [&](std::string_view name) {
        return b.value_like(x, name, width, x.layout, saved(), dtype);
    };
    y_.value = made("activation");
    if (in_products_) {
        activation_of_product(b, x, *weights, y_.value);
        return;
    }
    of_gate_ = keeps_function_of_gate(b, weights) ? made("activation of gate") : Value{};
    activation_ops(b, x, of_gate_, weights, y_.value);
}

void ActivationNode::backward(BackwardPass& pass) {
    restore_input(pass.b);
    restored_ = false;  // a chunk may have two backward segments
    const Value* weights = nullptr;
    const Value* dweights = nullptr;
    if (weights_ != nullptr) {
        weights = &weights_->value;
        Layout terms = weights->layout;  // ranks with different parts of x have the same weights
        for (std::size_t digit = 0; digit < terms.size(); ++digit) {
            const bool same =
                terms[digit] == replicated() && x_.value.layout[digit] != replicated();
            terms[digit] = same ? partial() : terms[digit];
        }
        weights_->gradient = pass.b.value_like(*weights,
                                               "activation weights gradient",
                                               weights->shape[kWidth],
                                               terms,
                                               Lifetime::slot,
                                               weights->dtype);
        dweights = &weights_->gradient;
    }
    x_.gradient = pass.b.value_like(y_.gradient,
                                    "activation backward",
                                    x_.value.shape[kWidth],
                                    x_.value.layout,
                                    pass.read_later(),
                                    in_products_ ? Dtype::fp8 : pass.b.activation_dtype());
    if (in_products_) {
        activation_of_product_backward(
            pass.b, y_.gradient, x_.value, *weights, *dweights, x_.gradient);
        return;
    }
    activation_backward_ops(
        pass.b, y_.gradient, x_.value, of_gate_, weights, dweights, x_.gradient);
}

Value BranchOutputNode::add_up(BlockBuilder& b, const Edge* beside) const {
    if (products_.empty()) {
        return beside->value;
    }
    const RowProduct& first = products_.front();
    const std::size_t pieces = b.overlap_pieces(
        gemm_output(first.x->value.layout, first.weight->layout), b.layouts.residual);
    Value sum;
    for (const RowProduct& one : products_) {
        sum = b.product(one.name,
                        one.x->value,
                        *one.weight,
                        Lifetime::slot,
                        pieces,
                        sum.empty() ? nullptr : &sum);
    }
    const Value reduced = b.relayout(name_ + " reduce", sum, b.layouts.residual);
    if (beside != nullptr) {
        b.kernel(name_ + " sum",
                 residual_add(b.local_tokens(reduced), b.local_width(reduced), reduced.dtype),
                 kMemoryBound,
                 {&beside->value},
                 {},
                 {},
                 {reduced.tensor});
    }
    return reduced;
}

void BranchOutputNode::forward(ForwardPass& pass) {
    Value sum = add_up(pass.b, beside_);
    if (has_norm()) {
        if (saved() != Lifetime::slot) {
            pass.b.outlive_slot(sum);
        }
        ResidualStream alone{.residual = sum, .pending = {}, .mask = {}};
        sum = norm_forward(
            pass.b, name_ + " norm", alone, norm_, {saved(), Lifetime::slot}, before_norm_);
    }
    std::vector<const Parameter*> biases;
    for (const RowProduct& one : products_) {
        biases.push_back(one.bias);
    }
    mask_ = set_pending(pass.b, pass.stream, sum, biases, saved(), purpose_, layer_);
}

void BranchOutputNode::run_again(ForwardPass& pass) {
    if (saved() == Lifetime::slot) {
        return forward(pass);
    }
    add_up(pass.b, beside_);  // the mask has been kept
}

void BranchOutputNode::run_last_again(ForwardPass& pass) {
    if (stops_before_combine(pass.b.model, pass.b.plan, layer_)) {
        if (!products_.empty()) {
            add_up(pass.b, nullptr);  // the shared expert's, which ran before the exchange
        }
        return;
    }
    if (!stops_before_last_product(pass.b.model, pass.b.plan, layer_)) {
        return forward(pass);
    }
    ORRERY_CHECK(products_.size() == 1 && beside_ == nullptr);
    const RowProduct& last = products_.front();
    pass.b.quantised_input(last.name, last.x->value, *last.weight);  // its gradient reads it
}

void BranchOutputNode::backward(BackwardPass& pass) {
    const char* const name =
        purpose_ == RandomPurpose::mlp_dropout ? "dropout 2 backward" : "dropout 1 backward";
    dy_ = branch_gradient(pass.b, name, pass.stream_gradient, mask_);
    if (has_norm()) {
        dy_ = norm_backward(pass.b, name_ + " norm backward", dy_, before_norm_, {}, norm_);
    }
    if (beside_ != nullptr) {
        beside_->gradient = dy_;
    }
    if (products_.empty()) {
        return;
    }
    const RowProduct& last = products_.back();
    gathered_ =
        gather_gradient(pass.b, last.name + " backward", dy_, *last.weight, pass.read_later());
}

void BranchOutputNode::backward_of(std::size_t product, BackwardPass& pass) const {
    const RowProduct& one = products_[product];
    one.x->gradient = pass.b.gradient_product(one.name + " dgrad", gathered_, *one.weight);
    weight_gradient_op(
        pass.b, one.name + " wgrad", one.x->value, gathered_, *one.weight, pass.deferred);
    if (one.bias->elements > 0) {
        pass.b.bias_gradient(one.name + " bias gradient", dy_, *one.bias);
    }
}

}  // namespace orrery
