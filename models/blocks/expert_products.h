// SPDX-License-Identifier: Apache-2.0
// The grouped products of a layer's experts, and biases that are weighted like their rows
// (models/blocks/tape.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/blocks/layer_nodes.h"

namespace orrery {

class MoveNode;

// One grouped product: a group for each expert of the rank.
class ExpertProductNode : public Node {
public:
    ExpertProductNode(std::string_view name, Parameter& weight, Parameter& bias, Edge& x, Edge& y)
        : name_(name), weight_(weight), bias_(bias), x_(x), y_(y) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;
    // Its output is not kept, because no backward pass reads it.
    void discard_output() { keeps_output_ = false; }

    // With plan.moe_tile_overlap: rows of x come by `move`, which sends `sent`, and the product
    // begins with it; or rows of the gradient of y do, in the backward pass.
    void takes_tiles_forward(const Edge& sent, const MoveNode& move) { forward_ = {&sent, &move}; }
    void takes_tiles_backward(const Edge& sent, const MoveNode& move) {
        backward_ = {&sent, &move};
    }
    // The product of rows of the pass: its position in the segment, and what it reads.
    std::uint32_t begin() const { return begin_; }
    TensorId operand() const { return operand_; }

private:
    struct Tiles {
        const Edge* sent = nullptr;
        const MoveNode* move = nullptr;
    };

    Lifetime kept() const { return keeps_output_ ? saved() : Lifetime::slot; }
    static void add_last_tile(BlockBuilder& b,
                              std::string_view name,
                              const Value& made,
                              std::int64_t depth);
    void begin_product(const BlockBuilder& b, const Value& x);

    std::string name_;
    Parameter& weight_;
    Parameter& bias_;
    Edge& x_;
    Edge& y_;
    bool keeps_output_ = true;
    Tiles forward_;
    Tiles backward_;
    std::uint32_t begin_ = 0;
    TensorId operand_{};
};

// The bias of the experts' second product, multiplied by the weight of each row (Megatron-Core's
// TEGroupedMLP, _apply_bias). The kernels are PyTorch's, because the weights have 32 bits.
class ExpertBiasNode : public Node {
public:
    ExpertBiasNode(Parameter& bias, Edge& x, Edge& weights, Edge& y)
        : bias_(bias), x_(x), weights_(weights), y_(y) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    static KernelCall moved(const BlockBuilder& b, const Value& y, std::int64_t bytes);
    static KernelCall mixed(const BlockBuilder& b, const Value& y, std::int64_t bytes);
    std::uint8_t launches(const BlockBuilder& b) const;

    Parameter& bias_;
    Edge& x_;
    Edge& weights_;
    Edge& y_;
};

}  // namespace orrery
