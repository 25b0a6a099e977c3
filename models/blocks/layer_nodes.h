// SPDX-License-Identifier: Apache-2.0
// The nodes of a transformer layer (models/blocks/tape.h): norms, products with a gather before
// them or a sum after them, the activation, and the addition of a branch to the stream.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/random.h"
#include "models/blocks/tape.h"

namespace orrery {

// The input of a column-parallel product stays gathered until its backward pass: autograd keeps
// what a product read. Megatron-LM's function keeps the rank's rows and gathers them again instead.
bool keeps_gathered(const BlockBuilder& b);

// The backward pass of products y = x w whose x had to be gathered. The result is dx in the layout
// of x: the sum over all `branches`, which read the same x (two in a parallel block). `kept` is
// what stands for x by then: x, or what was gathered of it.
struct ColumnBranch {
    std::string_view name;
    const Value* dy;
    Parameter* weight;
    Parameter* bias;
};
Value column_backward(BlockBuilder& b,
                      const Value& x,
                      const Value& kept,
                      const std::vector<ColumnBranch>& branches,
                      Deferred* deferred);

// Adds the gradient of one reader to the edge, in the order of the backward pass.
void add_gradient(BlockBuilder& b, Edge& edge, const Value& gradient);

// dw += x^T dy, immediately, or later if `deferred` is not null.
void weight_gradient_op(BlockBuilder& b,
                        std::string_view name,
                        const Value& x,
                        const Value& dy,
                        Parameter& w,
                        Deferred* deferred);

// y = norm(stream). A pending branch is first added to the stream.
class NormNode : public Node {
public:
    NormNode(std::string_view name, Parameter& weight, Edge& y)
        : name_(name), weight_(weight), y_(y) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;
    void run_again(ForwardPass& pass) override;

    // Keeps only the operands of the norm's own backward pass, not its output.
    void discard_output() { keeps_output_ = false; }
    void discard() {
        set_saved(Lifetime::slot);
        discard_output();
    }

private:
    std::string name_;
    Parameter& weight_;
    Edge& y_;
    bool keeps_output_ = true;
    NormActivations before_;
};

// x in the layout that column-parallel products read. In the backward pass each of these products
// registers a branch, so that their gradients of x are added before they are reduced.
class ColumnInputNode : public Node {
public:
    ColumnInputNode(std::string_view name, Parameter& weight, Edge& x)
        : name_(name), weight_(weight), x_(x) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

    const Value& gathered() const { return gathered_; }
    void add_branch(const ColumnBranch& branch) { branches_.push_back(branch); }

private:
    std::string name_;
    Parameter& weight_;
    Edge& x_;
    Value gathered_;
    std::vector<ColumnBranch> branches_;
};

class ColumnProductNode : public Node {
public:
    ColumnProductNode(std::string_view name,
                      ColumnInputNode& input,
                      Parameter& weight,
                      Parameter& bias,
                      Edge& y,
                      bool own_heads = false)
        : name_(name), input_(input), weight_(weight), bias_(bias), y_(y), own_heads_(own_heads) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;
    void run_again(ForwardPass& pass) override;

    // This part of its columns (engine/program/program.h, Tensor::column_parts) is not kept and
    // runs again. It has no effect if there are no parts.
    void run_part_again(std::int8_t part) { part_ = part; }

private:
    std::string name_;
    ColumnInputNode& input_;
    Parameter& weight_;
    Parameter& bias_;
    Edge& y_;
    bool own_heads_;  // y is Q, K and V, which only nodes that bring heads together read
    std::int8_t part_ = -1;
};

class ActivationNode : public Node {
public:
    // `weights`: one factor for each row of y, or null. `in_products`: the products around it apply
    // it (plan.moe_fused_activation).
    ActivationNode(Edge& x, Edge& y, Edge* weights = nullptr, bool in_products = false)
        : x_(x), y_(y), weights_(weights), in_products_(in_products) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;
    void run_again(ForwardPass& pass) override;

    // What `product`, which makes x, keeps for the backward pass is kept in FP8
    // (plan.activation_func_fp8_input_store). It has no effect if the product keeps nothing.
    void keep_input_in_fp8(Node& product);

private:
    void make_output(BlockBuilder& b);
    void restore_input(BlockBuilder& b);

    Edge& x_;
    Edge& y_;
    Edge* weights_;
    bool in_products_;
    bool in_fp8_ = false;
    bool restored_ = false;  // in the backward segment that is being made
    Value kept_input_;       // in FP8
    Value of_gate_;
};

struct RowProduct {
    std::string name;
    Parameter* weight;
    Parameter* bias;
    Edge* x;
};

// Row-parallel products whose results form one sum, in the residual layout. The sum stays pending,
// to be added to the stream. In a parallel block, both branches' products are added before one
// reduction, which halves the tensor-parallel communication. `beside` is a further summand in the
// residual layout, or null. `norm` applies to the sum if it has elements.
class BranchOutputNode : public Node {
public:
    BranchOutputNode(std::string_view name,
                     std::vector<RowProduct> products,
                     RandomPurpose purpose,
                     std::int64_t layer,
                     Parameter& norm,
                     Edge* beside = nullptr)
        : name_(name),
          products_(std::move(products)),
          purpose_(purpose),
          layer_(layer),
          norm_(norm),
          beside_(beside) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;
    void run_again(ForwardPass& pass) override;
    void run_last_again(ForwardPass& pass) override;

    // The gradients of one of the products.
    void backward_of(std::size_t product, BackwardPass& pass) const;

private:
    Value add_up(BlockBuilder& b, const Edge* beside) const;
    bool has_norm() const { return norm_.elements > 0; }

    std::string name_;
    std::vector<RowProduct> products_;
    RandomPurpose purpose_;
    std::int64_t layer_;
    Parameter& norm_;
    Edge* beside_;
    NormActivations before_norm_;
    Value mask_;
    Value dy_;
    Value gathered_;
};

// The backward pass of one product of a branch output, directly before that of the node which made
// its input.
class RowProductNode : public Node {
public:
    void forward(ForwardPass&) override {}  // the BranchOutputNode runs all products of the sum
    void backward(BackwardPass& pass) override { output_->backward_of(product_, pass); }
    void set_output(const BranchOutputNode& output, std::size_t product) {
        output_ = &output;
        product_ = product;
    }

private:
    const BranchOutputNode* output_ = nullptr;
    std::size_t product_ = 0;
};

}  // namespace orrery
