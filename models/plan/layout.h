// SPDX-License-Identifier: Apache-2.0
// How tensors lie on the mesh, and what it costs to change that. A Layout says for every mesh digit
// whether a tensor is sharded along one of its dimensions, replicated, or held as partial sums.
// Communication is the transition between two layouts, and how a matrix product's layouts go
// together follows from which of its dimensions are sharded (the rules of GSPMD, Xu et al. 2021).
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
// In two pieces that mirror each other (engine/program/program.h).
constexpr DigitPlacement sharded_mirrored(int dim) {
    return {.placement = Placement::shard, .dim = static_cast<std::int8_t>(dim), .mirrored = true};
}
constexpr DigitPlacement partial() {
    return {.placement = Placement::partial, .dim = -1};
}
// Rows that belong to experts, at the ranks of these (engine/program/program.h).
constexpr DigitPlacement routed(int dim) {
    return {.placement = Placement::routed, .dim = static_cast<std::int8_t>(dim)};
}
// Equal parts of the elements in memory order.
constexpr DigitPlacement flat() {
    return {.placement = Placement::flat};
}

// Dimensions of activations: (sequence, batch, width); of weights: (input width, output width), and
// of the weights of experts side by side (input width, output width, experts).
inline constexpr int kSequence = 0;
inline constexpr int kBatch = 1;
inline constexpr int kWidth = 2;
inline constexpr int kInput = 0;
inline constexpr int kOutput = 1;
inline constexpr int kExpert = 2;

// One collective of a transition: over the group that spans `digits`.
struct LayoutStep {
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::uint32_t digits = 0;
    bool operator==(const LayoutStep&) const = default;
};

// The order in which digits cut a dimension that several of them shard: the width is cut by the
// earlier axis first (the head exchange splits the heads that a tensor-parallel rank has), every
// other dimension by the later one (sequence parallelism inside context parallelism). Of the digits
// of one axis the most significant always cuts first.
std::vector<std::uint32_t> cutting_order(int dim, const Mesh& mesh);

// The layout of what arrives from the rank `hops` further along `digit`, if all ranks send theirs.
Layout from_neighbour(Layout layout, std::uint32_t digit, int hops, const Mesh& mesh);

// The collectives that turn `from` into `to`: reductions first, then exchanges, then gathers;
// digits that need the same collective share one. Taking a slice of a replicated tensor is free.
// Asserts that `to` does not ask for partial sums of what is already whole.
std::vector<LayoutStep> transition(const Layout& from, const Layout& to);

// Elements of one rank's part of a tensor with this global shape.
std::int64_t local_elements(const std::vector<std::int64_t>& shape,
                            const Layout& layout,
                            const Mesh& mesh);
// Along these digits (bits), one placement; along the others replicated. Digits of size one hold
// everything anyway: they stay replicated, which keeps empty groups away.
Layout along(const Mesh& mesh, std::uint32_t digits, DigitPlacement placement);
// The digits (bits) along which the layout has this placement.
std::uint32_t digits_with(const Layout& layout, Placement placement);
// What one layout does where the other replicates.
Layout combined(Layout layout, const Layout& other);

// Extent of one dimension of it.
std::int64_t local_extent(std::int64_t extent, int dim, const Layout& layout, const Mesh& mesh);

// y(sequence, batch, output) = x(sequence, batch, input) w(input, output).
// The layout that x must have, given what it has and the weight's.
Layout gemm_input(const Layout& x, const Layout& weight);
// The layout of y, given an x that fits.
Layout gemm_output(const Layout& x, const Layout& weight);
// The same for the gradient with respect to x: dx = dy w^T.
Layout gemm_gradient_input(const Layout& dy, const Layout& weight);
Layout gemm_gradient_output(const Layout& dy, const Layout& weight);
// dw = x^T dy sums over the tokens: partial along every digit that shards them. Rows of experts are
// summed expert by expert.
Layout weight_gradient(const Layout& x, const Layout& dy);

}  // namespace orrery
