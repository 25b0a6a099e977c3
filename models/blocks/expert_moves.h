// SPDX-License-Identifier: Apache-2.0
// The nodes that move rows of tokens (models/blocks/tape.h): to the ranks of their experts and
// back, and on a rank from one order to another. plan.moe_token_dispatcher_type determines the
// nodes of a layer and the path of the rows (network/collectives/dispatcher.h).
//
// Some libraries send a row once for each expert. They need copies before the exchange, and after
// it the rows are sorted by the rank's experts. Other libraries send a row once for each rank, and
// make the copies after the exchange.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/blocks/layer_nodes.h"
#include "models/experts/router_load.h"
#include "network/collectives/dispatcher.h"

namespace orrery {

class ExpertProductNode;

// The layout with `to` where it has `from`.
Layout with(Layout layout, Placement from, DigitPlacement to);
// Of a rank's part of the value.
std::int64_t bytes_on_rank(const BlockBuilder& b, const Value& v);
// Tokens that a rank sends to experts.
std::int64_t tokens_of_rank(const BlockBuilder& b);

// The dispatcher of the plan.
const Dispatcher& dispatcher_of(const ParallelPlan& plan);
// Whether the dispatcher sends a row once for each rank.
bool sends_rows_once(const ParallelPlan& plan);

// Whether full recomputation leaves out a layer's exchange of experts' sums, and what adds them to
// the stream. A library that sends a token's row once sums its copies before that exchange, which
// saves nothing (fused_a2a.py of Megatron-Core: FusedCombine keeps its handle outside of autograd).
// The products run again, because the sum's autograd function saves its map after it has run.
bool stops_before_combine(const Transformer& model, const ParallelPlan& plan, std::int64_t layer);

// The digits of the ranks that exchange tokens because of a layer's experts.
std::uint32_t sharing_digits(const LayoutAssignment& layouts);
LayerLoad load_of_layer(const BlockBuilder& b, std::int64_t layer);
// Numbers of rows of one of `parts` equal parts of the tokens. rows_of_layer() has a row for each
// expert of a token, times the share that hashing leaves. rows_by_rank() has a row for each rank
// that holds an expert of the token.
TokenRows rows_of_layer(const BlockBuilder& b, std::int64_t layer, std::int64_t parts = 1);
TokenRows rows_by_rank(const BlockBuilder& b, std::int64_t layer);

// Appends a kernel that reads and writes these values. With a part, it accesses only that part of
// `whole`; if it writes the part, all parts but the first add to the existing sum.
struct RowPart {
    std::int64_t number = 0;
    std::int64_t of = 1;
};
struct PartOf {
    const Value* whole = nullptr;
    RowPart part{};
    bool adds = false;              // writes are added to the whole
    const Value* placed = nullptr;  // the kernel finds the place of each of its elements
};
void move_rows(BlockBuilder& b,
               std::string_view name,
               const std::vector<const Value*>& reads,
               const std::vector<const Value*>& writes,
               const PartOf& part = {});

enum class Destination : std::uint8_t { experts, all_ranks, residual };

// Brings a value to another layout; its gradient moves in the opposite direction.
class MoveNode : public Node {
public:
    // `parts`: x is one of this number of parts (plan.moe_pipeline_degree).
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
    bool left_out_at_end(const BlockBuilder& b) const override;

    // The exchange of a pass, as a position in its segment.
    std::uint32_t exchange() const { return exchange_; }
    // With plan.moe_tile_overlap: the exchange sends what this product makes in the forward pass,
    // or in the backward pass, and begins with it.
    void sends_tiles_forward(const ExpertProductNode& product) { forward_maker_ = &product; }
    void sends_tiles_backward(const ExpertProductNode& product) { backward_maker_ = &product; }

private:
    Lifetime kept() const { return keeps_ ? saved() : Lifetime::slot; }
    Layout target(const BlockBuilder& b) const;
    // Waits for the first `ready` ops of the pass.
    Value moved(BlockBuilder& b,
                std::string_view name,
                const Value& v,
                const Layout& to,
                Lifetime lifetime,
                std::uint32_t ready);

    std::string name_;
    Destination to_;
    std::int64_t layer_;
    Edge& x_;
    Edge& y_;
    bool keeps_;
    std::int64_t parts_;
    std::uint32_t exchange_ = 0;
    const ExpertProductNode* forward_maker_ = nullptr;
    const ExpertProductNode* backward_maker_ = nullptr;
};

// Reorders rows, or makes a row for each expert from a row for each rank. It comes after the
// exchange, and before the exchange back.
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

// Moves the weights of rows in the same message as the rows.
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
