// SPDX-License-Identifier: Apache-2.0
// The nodes of a transformer layer (models/blocks/tape.h): norms, products that need a gather
// before them or leave a sum behind them, the activation, and the sum of a branch that joins the
// stream.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/random.h"
#include "models/blocks/tape.h"

namespace orrery {

// A product y = x w on the way back, where x had to be gathered: its own gradient, dx in the layout
// of x, is the sum over all `branches` that read the same x (two in a parallel block).
struct ColumnBranch {
    std::string_view name;
    const Value* dy;
    Parameter* weight;
    Parameter* bias;
};
Value column_backward(BlockBuilder& b,
                      const Value& x,
                      const std::vector<ColumnBranch>& branches,
                      Deferred* deferred);

// Each node that reads an edge adds its gradient, in the order of the backward pass.
void add_gradient(BlockBuilder& b, Edge& edge, const Value& gradient);

// dw += x^T dy, now or later.
void weight_gradient_op(BlockBuilder& b,
                        std::string_view name,
                        const Value& x,
                        const Value& dy,
                        Parameter& w,
                        Deferred* deferred);

// y = norm(stream), where a pending branch is added to the stream first.
class NormNode : public Node {
public:
    NormNode(std::string_view name, Parameter& weight, Edge& y)
        : name_(name), weight_(weight), y_(y) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;
    void run_again(ForwardPass& pass) override;

    // Its output is not kept, but what its own backward pass reads.
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

// x as column-parallel products read it. The products that read it say what they are on the way
// back, so that their gradients of x are added up before they are reduced.
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
                      bool shared_heads = false)
        : name_(name),
          input_(input),
          weight_(weight),
          bias_(bias),
          y_(y),
          shared_heads_(shared_heads) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;
    void run_again(ForwardPass& pass) override;

    // This part of its columns (engine/program/program.h, Tensor::column_parts) is not kept and
    // runs again; nothing if it has no parts.
    void run_part_again(std::int8_t part) { part_ = part; }

private:
    std::string name_;
    ColumnInputNode& input_;
    Parameter& weight_;
    Parameter& bias_;
    Edge& y_;
    bool shared_heads_;  // y has slices of key-value heads that ranks share
    std::int8_t part_ = -1;
};

class ActivationNode : public Node {
public:
    // `weights`: of the rows of y, if given.
    ActivationNode(Edge& x, Edge& y, Edge* weights = nullptr) : x_(x), y_(y), weights_(weights) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    Edge& x_;
    Edge& y_;
    Edge* weights_;
};

struct RowProduct {
    std::string name;
    Parameter* weight;
    Parameter* bias;
    Edge* x;
};

// Row-parallel products of one sum, brought to the residual layout, and the sum left to be added to
// the stream. In a parallel block both branches' products are added before one reduction: half the
// tensor-parallel communication. `beside`: something in the residual layout that is added, too.
class BranchOutputNode : public Node {
public:
    BranchOutputNode(std::string_view name,
                     std::vector<RowProduct> products,
                     RandomPurpose purpose,
                     std::int64_t layer,
                     Edge* beside = nullptr)
        : name_(name),
          products_(std::move(products)),
          purpose_(purpose),
          layer_(layer),
          beside_(beside) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;
    void run_again(ForwardPass& pass) override;

    // Gradients of one of the products.
    void backward_of(std::size_t product, BackwardPass& pass) const;

private:
    Value add_up(BlockBuilder& b) const;

    std::string name_;
    std::vector<RowProduct> products_;
    RandomPurpose purpose_;
    std::int64_t layer_;
    Edge* beside_;
    Value mask_;
    Value dy_;
    Value gathered_;
};

// The place on the way back of one of a branch output's products: right before what made its input.
class RowProductNode : public Node {
public:
    void forward(ForwardPass&) override {}  // with the other products of the sum
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
