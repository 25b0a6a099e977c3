// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/tape.h"

#include <utility>

namespace orrery {

namespace {

bool is_captured(const BlockBuilder& b, const Node& node) {
    return node.part() && b.plan.captures(*node.part());
}

// The graph of the node's part launches the node's ops, if the plan captures the part.
void capture(BlockBuilder& b, const Node& node) {
    b.ops.capture(is_captured(b, node));
}

// Products that a node of a captured part defers have a graph, too (make_graphed_callables of
// Transformer Engine, pull request 1948; _BackwardDWWrapper of Megatron-Core).
void run_backward(Node& node, BackwardPass& pass) {
    const std::size_t known = pass.deferred == nullptr ? 0 : pass.deferred->size();
    node.backward(pass);
    if (pass.deferred != nullptr && is_captured(pass.b, node)) {
        for (std::size_t i = known; i < pass.deferred->size(); ++i) {
            (*pass.deferred)[i].in_graph = true;
        }
    }
}

// A checkpoint takes the host 350 us besides the operators of its region (pytorch pull request
// 174322, torchtitan pull request 2380): states of random numbers are stored and restored, inputs
// detached, and autograd entered once more. A call takes some 90 us there (host.call).
constexpr std::uint8_t kCallsOfCheckpoint = 4;

}  // namespace

void enter_checkpoint(BlockBuilder& b) {
    if (b.plan.ops_are_calls()) {
        b.ops.host_works_before_next(kCallsOfCheckpoint);
    }
}

void hold_until_here(BlockBuilder& b, std::string_view name, std::vector<TensorId> tensors) {
    OpSpec spec = named(name);
    spec.cause = Cause::host;
    spec.reads = std::move(tensors);
    spec.launches = 0;
    b.ops.host({}, spec);
}

void run_delayed(BlockBuilder& b, Deferred& delayed) {
    for (const DeferredProducts& products : delayed) {
        b.ops.capture(products.in_graph);
        products.run(b);
    }
    b.ops.capture(false);
    delayed.clear();
}

void Tape::forward(BlockBuilder& b, ResidualStream& stream) {
    input_ = stream;
    run(b, stream);
}

void Tape::run_again(BlockBuilder& b, ResidualStream& stream, bool ends) {
    b.recomputing = true;
    run(b, stream, ends);
    b.recomputing = false;
}

void Tape::run(BlockBuilder& b, ResidualStream& stream, bool ends) {
    ForwardPass pass{b, std::move(stream)};
    for (const auto& node : nodes_) {
        capture(b, *node);
        if (ends && node == nodes_.back()) {
            node->run_last_again(pass);
        } else if (!ends || !node->left_out_at_end(b)) {
            node->forward(pass);
        }
    }
    b.ops.capture(false);
    stream = std::move(pass.stream);
}

Value Tape::backward(BlockBuilder& b, const Value& dout, Deferred* deferred) {
    for (Edge& edge : edges_) {
        edge.gradient = {};
    }
    BackwardPass pass{b, dout, deferred};
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        capture(b, *nodes_[i]);
        for (const Again& again : again_) {
            if (again.reader == nodes_[i].get()) {
                b.recomputing = true;
                enter_checkpoint(b);
                ForwardPass once_more{b, input_};
                for (Node* node : again.nodes) {
                    node->run_again(once_more);
                }
                b.recomputing = false;
            }
        }
        run_backward(*nodes_[i], pass);
    }
    b.ops.capture(false);
    return pass.stream_gradient;
}

}  // namespace orrery
