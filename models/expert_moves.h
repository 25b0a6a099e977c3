// SPDX-License-Identifier: Apache-2.0
// The nodes that move rows of tokens (models/tape.h): to the ranks of their experts and back, and
// on a rank from one order to another. Which of them a layer has, and how the rows travel, follows
// from plan.moe_token_dispatcher_type (network/collectives/dispatcher.h).
//
// Libraries that send a row once for each expert want copies before the exchange; after it the rows
// are sorted by the rank's experts. Libraries that send it once for each rank make the copies
// behind the exchange.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/layer_nodes.h"
#include "models/router_load.h"
#include "network/collectives/dispatcher.h"

namespace orrery {

// That the plan names.
const Dispatcher& dispatcher_of(const ParallelPlan& plan);
// It sends a row once for each rank.
bool sends_rows_once(const ParallelPlan& plan);

// Ranks that exchange tokens because of a layer's experts.
std::uint32_t sharing_digits(const LayoutAssignment& layouts);
LayerLoad load_of_layer(const BlockBuilder& b, std::int64_t layer);
// A row for each expert of a token; a row for each rank that has an expert of it.
TokenRows rows_of_layer(const BlockBuilder& b, std::int64_t layer);
TokenRows rows_by_rank(const BlockBuilder& b, std::int64_t layer);

// A kernel that reads these values and writes those.
void move_rows(BlockBuilder& b,
               std::string_view name,
               const std::vector<const Value*>& reads,
               const std::vector<const Value*>& writes);

enum class Destination : std::uint8_t { experts, all_ranks, residual };

// A value brought to another layout; its gradient goes the other way.
class MoveNode : public Node {
public:
    MoveNode(
        std::string_view name, Destination to, std::int64_t layer, Edge& x, Edge& y, bool keeps)
        : name_(name), to_(to), layer_(layer), x_(x), y_(y), keeps_(keeps) {}

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
};

// Rows in another order, or a row for each expert instead of each rank: behind the exchange, and
// before the way back.
enum class RowOrder : std::uint8_t { by_rank, by_expert };
class SortNode : public Node {
public:
    SortNode(std::string_view name, RowOrder to, std::int64_t layer, Edge& x, Edge& y, bool keeps)
        : name_(name), to_(to), layer_(layer), x_(x), y_(y), keeps_(keeps) {}

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
};

// Tokens as rows, each as often as it has experts, ordered by expert.
class PermuteNode : public Node {
public:
    PermuteNode(std::int64_t layer, Edge& x, Edge& rows) : layer_(layer), x_(x), rows_(rows) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    std::int64_t layer_;
    Edge& x_;
    Edge& rows_;
};

// The sum of each token's rows.
class UnpermuteNode : public Node {
public:
    UnpermuteNode(Edge& rows, Edge& y) : rows_(rows), y_(y) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    Edge& rows_;
    Edge& y_;
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
