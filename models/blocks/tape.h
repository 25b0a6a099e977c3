// SPDX-License-Identifier: Apache-2.0
// A block (a transformer layer) as a tape of nodes: products, norms, attention, activations,
// changes of layout. The forward pass runs the nodes in order, the backward pass in reverse. All
// blocks share one backward pass, and a new architecture is a list of nodes.
//
// Nodes meet at edges. An edge has a value and, in the backward pass, its gradient. The residual
// stream passes through all nodes beside the edges: norms read it, and branch outputs are added to
// it.
//
// Recomputation is a choice of nodes whose outputs live only in the forward pass. The tape runs
// them again before the first node whose backward pass reads these outputs, or runs all nodes again
// before the block's backward pass.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "models/blocks/norm_lowering.h"

namespace orrery {

// Weight-gradient products that zero-bubble schedules run later, in a segment of their own.
struct DeferredProducts {
    std::vector<Parameter*> weights;
    std::function<void(BlockBuilder&)> run;
    bool in_graph = false;  // a CUDA graph of their part launches them
};
using Deferred = std::vector<DeferredProducts>;
// Emits the deferred products.
void run_delayed(BlockBuilder& b, Deferred& delayed);

struct Edge {
    Value value;
    Value gradient;
};

struct ForwardPass {
    BlockBuilder& b;
    ResidualStream stream;
};

struct BackwardPass {
    BlockBuilder& b;
    Value stream_gradient;  // of the residual stream after the node
    Deferred* deferred;     // takes weight-gradient products that run later; null: they run now
    // The lifetime of the operands of deferred weight-gradient products.
    Lifetime read_later() const {
        return deferred == nullptr ? Lifetime::slot : Lifetime::micro_batch;
    }
};

class Node {
public:
    virtual ~Node() = default;
    // Emits the node's ops. Operands of later backward passes have the lifetime `saved()`.
    virtual void forward(ForwardPass& pass) = 0;
    virtual void backward(BackwardPass& pass) = 0;
    // Computes again the results that have not been kept.
    virtual void run_again(ForwardPass& pass) { forward(pass); }
    // The same for the last node of a block that is run again whole: only what a backward pass
    // reads, if stops_before_last_product().
    virtual void run_last_again(ForwardPass& pass) { forward(pass); }

    // Whether that leaves out the node, if it is before the last one.
    virtual bool left_out_at_end(const BlockBuilder& /*b*/) const { return false; }

    Lifetime saved() const { return saved_; }
    void set_saved(Lifetime lifetime) { saved_ = lifetime; }
    // The part of the layer that the node belongs to; empty if no graph captures the part.
    std::optional<CudaGraphPart> part() const { return part_; }
    void set_part(std::optional<CudaGraphPart> part) { part_ = part; }

private:
    Lifetime saved_ = Lifetime::micro_batch;
    std::optional<CudaGraphPart> part_;
};

// Before the ops of a region that is computed again: what the framework's host does besides.
void enter_checkpoint(BlockBuilder& b);
// An op that takes no time and reads `tensors`, which therefore live until here: a framework holds
// them longer than their last use.
void hold_until_here(BlockBuilder& b, std::string_view name, std::vector<TensorId> tensors);

class Tape {
public:
    // `saved`: the default lifetime of the operands that nodes leave for the backward pass.
    explicit Tape(Lifetime saved) : saved_(saved) {}
    Tape(Tape&&) = default;
    Tape& operator=(Tape&&) = default;

    Edge& edge() { return edges_.emplace_back(); }
    template <class N, class... Arguments>
    N& add(Arguments&&... arguments) {
        auto node = std::make_unique<N>(std::forward<Arguments>(arguments)...);
        N& added = *node;
        added.set_saved(saved_);
        added.set_part(part_);
        nodes_.push_back(std::move(node));
        return added;
    }
    // Nodes added from now on belong to this part of the layer.
    void enter(std::optional<CudaGraphPart> part) { part_ = part; }
    // Runs `nodes` again, in this order, before the backward pass of `reader`. `nodes` may be
    // empty.
    void run_again_before(const Node& reader, std::vector<Node*> nodes) {
        if (!nodes.empty()) {
            again_.push_back({&reader, std::move(nodes)});
        }
    }

    // Leaves the block's output in `stream`.
    void forward(BlockBuilder& b, ResidualStream& stream);
    // Runs all nodes again on `stream`: the kept input of the unit's first block (input()), or the
    // output of the previous block. `ends`: no block of the unit comes after this one.
    void run_again(BlockBuilder& b, ResidualStream& stream, bool ends);
    const ResidualStream& input() const { return input_; }
    // The gradient of the residual stream at the block's input. `dout` is the gradient at its
    // output.
    Value backward(BlockBuilder& b, const Value& dout, Deferred* deferred);

private:
    void run(BlockBuilder& b, ResidualStream& stream, bool ends = false);

    struct Again {
        const Node* reader;
        std::vector<Node*> nodes;
    };

    Lifetime saved_;
    std::optional<CudaGraphPart> part_;
    ResidualStream input_;
    std::deque<Edge> edges_;  // a deque, because nodes keep the addresses of edges
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<Again> again_;
};

}  // namespace orrery
