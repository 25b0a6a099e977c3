// SPDX-License-Identifier: Apache-2.0
// Executes one step of a layout transition (models/plan/layout.h): a collective that turns the part
// of a tensor that a rank holds under one layout into its part under another. Local parts are
// row-major blocks; a width of several column parts is cut part by part. Which of several mesh
// digits that shard the same dimension cuts first stands in models/plan/layout.h. Extents that do
// not divide are padded at the end (local_extent rounds up). A dimension's indices are those of the
// tensor as it is cut: of a digit with mirrored pieces the pieces of coordinate 0, then those of
// coordinate 1, ….
#pragma once

#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "models/plan/layout.h"
#include "runtime/communication/communicator.h"

namespace orrery {

// Where a rank's part lies in a dimension: `count` includes padding.
struct DimensionRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
};
DimensionRange local_range(
    std::int64_t extent, int dim, const Layout& layout, const Mesh& mesh, RankId rank);

// Of a tensor that is replicated along some mesh digits, what a message leaves to this rank
// (SendRecvPart::slice_digits), and of that the message's piece.
TensorView message_part(const Mesh& mesh, RankId rank, TensorView whole, const SendRecvPart& part);

struct Redistribution {
    const Mesh& mesh;
    RankId rank{};
    LayoutStep step;
    std::span<const RankId> members;         // of the group over step.digits, in ascending order
    const std::vector<std::int64_t>& shape;  // global
    const Layout& from;
    const Layout& to;  // as `from` but along step.digits
    Reduction reduction = Reduction::sum;
    std::span<const std::int64_t> column_parts{};  // of the last dimension; empty: one
};

// Why the step can't be executed, or empty: a digit outside the step cuts a dimension finer than
// one of the step's digits does.
std::string why_not_redistribute(const Redistribution& r);

// Why a collective on a piece of an activation (engine/program/program.h, Tensor::sequence_blocks)
// can't be executed, or empty: pieces are gathered from, or scattered into, one block of each
// member.
std::string why_not_move_piece(const Program& program,
                               RankId rank,
                               const Op& op,
                               const LayoutStep& step);

// `in` has local_elements() under `from`, `out` under `to`; they may be the same for all_reduce
// only.
Result<void> redistribute(const Redistribution& r,
                          ConstTensorView in,
                          TensorView out,
                          Communicator& communicator);

}  // namespace orrery
