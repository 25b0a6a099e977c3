// SPDX-License-Identifier: Apache-2.0
// Tokens become rows, one for each expert of a token, and the rows of a token are added up again.
#pragma once

#include <cstdint>

#include "models/blocks/expert_moves.h"

namespace orrery {

// Makes rows from tokens, one for each expert of a token, ordered by expert; or only a part of
// these rows.
class PermuteNode : public Node {
public:
    PermuteNode(std::int64_t layer, Edge& x, Edge& rows, RowPart part = {})
        : layer_(layer), x_(x), rows_(rows), part_(part) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    Value gradient_of_whole(BlockBuilder& b) const;

    std::int64_t layer_;
    Edge& x_;
    Edge& rows_;
    RowPart part_;
};

// Adds up each token's rows.
class UnpermuteNode : public Node {
public:
    UnpermuteNode(Edge& rows, Edge& y, RowPart part = {}) : rows_(rows), y_(y), part_(part) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    Edge& rows_;
    Edge& y_;
    RowPart part_;
    Value by_token_{};  // rows of an all-gather that moves twice
};

}  // namespace orrery
