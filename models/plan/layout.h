// SPDX-License-Identifier: Apache-2.0
// Layouts of tensors on the mesh, and the collectives between them. For every mesh digit, a Layout
// says whether a tensor is sharded along one of its dimensions, replicated, or held as partial
// sums. Communication is the transition between two layouts. The layouts of a matrix product follow
// from its sharded dimensions (the rules of GSPMD, Xu et al. 2021).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/mesh.h"
#include "engine/program/program.h"

namespace orrery {

using Layout = std::vector<DigitPlacement>;  // by mesh digit

constexpr DigitPlacement replicated() {
    return {};
}
constexpr DigitPlacement sharded(int dim) {
    return {.placement = Placement::shard, .dim = static_cast<std::int8_t>(dim)};
}
// Two pieces that mirror each other (engine/program/program.h).
constexpr DigitPlacement sharded_mirrored(int dim) {
    return {.placement = Placement::shard, .dim = static_cast<std::int8_t>(dim), .mirrored = true};
}
constexpr DigitPlacement partial() {
    return {.placement = Placement::partial, .dim = -1};
}
// Rows of experts, on the ranks of these experts (engine/program/program.h).
constexpr DigitPlacement routed(int dim) {
    return {.placement = Placement::routed, .dim = static_cast<std::int8_t>(dim)};
}
// Equal parts of the elements, in memory order.
constexpr DigitPlacement flat() {
    return {.placement = Placement::flat};
}

// Dimensions of activations: (sequence, batch, width). Dimensions of weights: (input width, output
// width). Weights of experts have a third dimension, the expert.
inline constexpr int kSequence = 0;
inline constexpr int kBatch = 1;
inline constexpr int kWidth = 2;
inline constexpr int kInput = 0;
inline constexpr int kOutput = 1;
inline constexpr int kExpert = 2;

// One collective of a transition, over the group that spans `digits`.
struct LayoutStep {
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::uint32_t digits = 0;
    bool operator==(const LayoutStep&) const = default;
};

// The order in which several digits cut a dimension that they all shard. The earlier axis cuts the
// width first (the head exchange splits the heads of a tensor-parallel rank). The later axis cuts
// other dimensions first (sequence parallelism inside context parallelism). Of the digits of one
// axis the most significant cuts first.
std::vector<std::uint32_t> cutting_order(int dim, const Mesh& mesh);

// The layout of the tensor that arrives from the rank `hops` further along `digit`, if all ranks
// send theirs.
Layout from_neighbour(Layout layout, std::uint32_t digit, int hops, const Mesh& mesh);

// The collectives that turn `from` into `to`: reductions first, then exchanges, then gathers.
// Digits that need the same collective share one. A slice of a replicated tensor needs none.
// Asserts that `to` has no partial sums along digits where `from` is whole.
std::vector<LayoutStep> transition(const Layout& from, const Layout& to);

// The number of elements of one rank's part of a tensor with this global shape.
std::int64_t local_elements(const std::vector<std::int64_t>& shape,
                            const Layout& layout,
                            const Mesh& mesh);
// The layout with `placement` along these digits (bits), and replicated along the others. Digits of
// size one stay replicated, which avoids empty groups.
Layout along(const Mesh& mesh, std::uint32_t digits, DigitPlacement placement);
// The digits (bits) along which the layout has this placement.
std::uint32_t digits_with(const Layout& layout, Placement placement);
// The placement of `layout`, and along digits that it replicates the placement of `other`.
Layout combined(Layout layout, const Layout& other);

// The extent of one rank's part along dimension `dim`.
std::int64_t local_extent(std::int64_t extent, int dim, const Layout& layout, const Mesh& mesh);

// y(sequence, batch, output) = x(sequence, batch, input) w(input, output). Returns the layout that
// the product needs of x, given the layout of x and of the weight.
Layout gemm_input(const Layout& x, const Layout& weight);
// The layout of y, given an x in the layout of gemm_input().
Layout gemm_output(const Layout& x, const Layout& weight);
// The same for the gradient with respect to x: dx = dy w^T.
Layout gemm_gradient_input(const Layout& dy, const Layout& weight);
Layout gemm_gradient_output(const Layout& dy, const Layout& weight);
// dw = x^T dy is a sum over the tokens: partial along every digit that shards them. Rows of experts
// are summed expert by expert.
Layout weight_gradient(const Layout& x, const Layout& dy);

}  // namespace orrery
