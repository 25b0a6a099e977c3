// SPDX-License-Identifier: Apache-2.0
// The nodes that move rows of tokens (models/blocks/tape.h): to the ranks of their experts and
// back, and on a rank from one order to another. Which of them a layer has, and how the rows
// travel, follows from plan.moe_token_dispatcher_type (network/collectives/dispatcher.h).
//
// Libraries that send a row once for each expert want copies before the exchange; after it the rows
// are sorted by the rank's experts. Libraries that send it once for each rank make the copies
// behind the exchange.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/blocks/layer_nodes.h"
#include "models/experts/router_load.h"
#include "network/collectives/dispatcher.h"

namespace orrery {

// The dispatcher that the plan names.
const Dispatcher& dispatcher_of(const ParallelPlan& plan);
// It sends a row once for each rank.
bool sends_rows_once(const ParallelPlan& plan);

// Ranks that exchange tokens because of a layer's experts.
std::uint32_t sharing_digits(const LayoutAssignment& layouts);
LayerLoad load_of_layer(const BlockBuilder& b, std::int64_t layer);
// Rows of one of `parts` equal parts of the tokens: one for each expert of a token, times the share
// that hashing leaves. rows_by_rank(): one for each rank that has an expert of the token.
TokenRows rows_of_layer(const BlockBuilder& b, std::int64_t layer, std::int64_t parts = 1);
TokenRows rows_by_rank(const BlockBuilder& b, std::int64_t layer);

// A kernel that reads these values and writes those; with a part, of `whole` that part only, and
// all but the first part that writes it adds to what it has.
struct RowPart {
    std::int64_t number = 0;
    std::int64_t of = 1;
};
struct PartOf {
    const Value* whole = nullptr;
    RowPart part{};
    bool adds = false;  // to the whole
};
void move_rows(BlockBuilder& b,
               std::string_view name,
               const std::vector<const Value*>& reads,
               const std::vector<const Value*>& writes,
               const PartOf& part = {});

enum class Destination : std::uint8_t { experts, all_ranks, residual };

// A value brought to another layout; its gradient goes the other way.
class MoveNode : public Node {
public:
    // `parts`: x is one of this many parts (plan.moe_pipeline_degree).
    MoveNode(std::string_view name,
             Destination to,
             std::int64_t layer,
             Edge& x,
             Edge& y,
             bool keeps,
             std::int64_t parts = 1)
        : name_(name), to_(to), layer_(layer), x_(x), y_(y), keeps_(keeps), parts_(parts) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    Lifetime kept() const { return keeps_ ? saved() : Lifetime::slot; }
    Layout target(const BlockBuilder& b) const;
    Value moved(BlockBuilder& b,
                std::string_view name,
                const Value& v,
                const Layout& to,
                Lifetime lifetime) const;

    std::string name_;
    Destination to_;
    std::int64_t layer_;
    Edge& x_;
    Edge& y_;
    bool keeps_;
    std::int64_t parts_;
};

// Rows in another order, or a row for each expert instead of each rank: behind the exchange, and
// before the way back.
enum class RowOrder : std::uint8_t { by_rank, by_expert };
class SortNode : public Node {
public:
    SortNode(std::string_view name,
             RowOrder to,
             std::int64_t layer,
             Edge& x,
             Edge& y,
             bool keeps,
             std::int64_t parts = 1)
        : name_(name), to_(to), layer_(layer), x_(x), y_(y), keeps_(keeps), parts_(parts) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    TokenRows rows(const BlockBuilder& b, RowOrder order) const;

    std::string name_;
    RowOrder to_;
    std::int64_t layer_;
    Edge& x_;
    Edge& y_;
    bool keeps_;
    std::int64_t parts_;
};

// Tokens as rows, each as often as it has experts, ordered by expert; or, of rows, a part.
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

// The sum of each token's rows.
class UnpermuteNode : public Node {
public:
    UnpermuteNode(Edge& rows, Edge& y, RowPart part = {}) : rows_(rows), y_(y), part_(part) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    Edge& rows_;
    Edge& y_;
    RowPart part_;
};

// Weights of rows that travel beside the rows themselves, in the same message.
class CarryNode : public Node {
public:
    CarryNode(std::int64_t layer, Edge& x, Edge& y) : layer_(layer), x_(x), y_(y) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    std::int64_t layer_;
    Edge& x_;
    Edge& y_;
};

}  // namespace orrery
