// SPDX-License-Identifier: Apache-2.0
// A block (a transformer layer) as a tape of nodes: products, norms, attention, activations,
// changes of layout. The forward pass runs the nodes in order, the backward pass in reverse: there
// is one backward pass for all blocks, and a new architecture is a list of nodes.
//
// Nodes meet at edges. An edge has a value and, on the way back, the gradient of it. The residual
// stream runs beside the edges through all nodes: norms read it, and branch outputs add to it.
//
// Recomputation is a choice of nodes whose outputs live in the forward pass alone: the tape runs
// them again before the first node whose backward pass reads these outputs, or all nodes before the
// block's backward pass.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "models/blocks/norm_lowering.h"

namespace orrery {

// Weight-gradient work that zero-bubble schedules run later, in a segment of its own.
struct DeferredProducts {
    std::vector<Parameter*> weights;
    std::function<void(BlockBuilder&)> run;
};
using Deferred = std::vector<DeferredProducts>;
// Emits what has been left for later.
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
    Deferred* deferred;     // takes weight products that run later; null: they run now
    // The lifetime of what deferred weight products read.
    Lifetime read_later() const {
        return deferred == nullptr ? Lifetime::slot : Lifetime::micro_batch;
    }
};

class Node {
public:
    virtual ~Node() = default;
    // Emits the node's ops. What later backward passes read lives as long as `saved()`.
    virtual void forward(ForwardPass& pass) = 0;
    virtual void backward(BackwardPass& pass) = 0;
    // Makes what has not been kept once more.
    virtual void run_again(ForwardPass& pass) { forward(pass); }

    Lifetime saved() const { return saved_; }
    void set_saved(Lifetime lifetime) { saved_ = lifetime; }
    // The part of the layer that the node belongs to; nothing if no graph of a part captures it.
    std::optional<CudaGraphPart> part() const { return part_; }
    void set_part(std::optional<CudaGraphPart> part) { part_ = part; }

private:
    Lifetime saved_ = Lifetime::micro_batch;
    std::optional<CudaGraphPart> part_;
};

class Tape {
public:
    // `saved`: how long what nodes leave for the backward pass lives, unless they say otherwise.
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
    // Nodes added from here on belong to this part of the layer.
    void enter(std::optional<CudaGraphPart> part) { part_ = part; }
    // Nodes to run again, in this order, before the backward pass of `reader`; or none.
    void run_again_before(const Node& reader, std::vector<Node*> nodes) {
        if (!nodes.empty()) {
            again_.push_back({&reader, std::move(nodes)});
        }
    }

    // Leaves the block's output in `stream`.
    void forward(BlockBuilder& b, ResidualStream& stream);
    // Runs all nodes once more on `stream`: the kept input of the unit's first block (input()), or
    // what the block before has left.
    void run_again(BlockBuilder& b, ResidualStream& stream);
    const ResidualStream& input() const { return input_; }
    // The gradient of the residual stream at the block's input, given that at its output.
    Value backward(BlockBuilder& b, const Value& dout, Deferred* deferred);

private:
    void run(BlockBuilder& b, ResidualStream& stream);

    struct Again {
        const Node* reader;
        std::vector<Node*> nodes;
    };

    Lifetime saved_;
    std::optional<CudaGraphPart> part_;
    ResidualStream input_;
    std::deque<Edge> edges_;  // whose addresses nodes keep
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<Again> again_;
};

}  // namespace orrery
