// SPDX-License-Identifier: Apache-2.0
#include "models/tape.h"

namespace orrery {

void run_delayed(BlockBuilder& b, Deferred& delayed) {
    for (const DeferredProducts& products : delayed) {
        products.run(b);
    }
    delayed.clear();
}

void Tape::forward(BlockBuilder& b, ResidualStream& stream) {
    input_ = stream;
    ForwardPass pass{b, std::move(stream)};
    for (const auto& node : nodes_) {
        node->forward(pass);
    }
    stream = std::move(pass.stream);
}

void Tape::run_again(BlockBuilder& b, ResidualStream& stream) {
    b.recomputing = true;
    ForwardPass pass{b, std::move(stream)};
    for (const auto& node : nodes_) {
        node->forward(pass);
    }
    stream = std::move(pass.stream);
    b.recomputing = false;
}

Value Tape::backward(BlockBuilder& b, const Value& dout, Deferred* deferred) {
    for (Edge& edge : edges_) {
        edge.gradient = {};
    }
    BackwardPass pass{b, dout, deferred};
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        for (const Again& again : again_) {
            if (again.reader == nodes_[i].get()) {
                b.recomputing = true;
                ForwardPass once_more{b, input_};
                for (Node* node : again.nodes) {
                    node->run_again(once_more);
                }
                b.recomputing = false;
            }
        }
        nodes_[i]->backward(pass);
    }
    return pass.stream_gradient;
}

}  // namespace orrery
