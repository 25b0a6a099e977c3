// SPDX-License-Identifier: Apache-2.0
// Executes one step of a layout transition (models/plan/layout.h): a collective that turns a rank's
// part of a tensor under one layout into its part under another. Local parts are row-major blocks;
// a width with several column parts is cut part by part. If several mesh digits shard the same
// dimension, models/plan/layout.h defines which cuts first. Extents that do not divide are padded
// at the end (local_extent rounds up). The indices of a dimension are those of the cut tensor: with
// mirrored pieces, the pieces of coordinate 0 come first, then those of coordinate 1, ….
#pragma once

#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "models/plan/layout.h"
#include "runtime/communication/communicator.h"

namespace orrery {

// The range of a rank's part in a dimension; `count` includes padding.
struct DimensionRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
};
DimensionRange local_range(
    std::int64_t extent, int dim, const Layout& layout, const Mesh& mesh, RankId rank);

// The part of a tensor that a message moves: the rank's slice if the tensor is replicated along
// some mesh digits (SendRecvPart::slice_digits), and of that the message's piece.
TensorView message_part(const Mesh& mesh, RankId rank, TensorView whole, const SendRecvPart& part);

struct Redistribution {
    const Mesh& mesh;
    RankId rank{};
    LayoutStep step;
    std::span<const RankId> members;         // of the group over step.digits, ascending
    const std::vector<std::int64_t>& shape;  // global
    const Layout& from;
    const Layout& to;  // differs from `from` only along step.digits
    Reduction reduction = Reduction::sum;
    std::span<const std::int64_t> column_parts{};  // of the last dimension; empty: one part
};

// The reason why the step cannot be executed, or empty: a digit outside the step cuts a dimension
// more finely than one of the step's digits.
std::string why_not_redistribute(const Redistribution& r);

// The reason why a collective on a piece of an activation (engine/program/program.h,
// Tensor::sequence_blocks) cannot be executed, or empty. A piece is gathered from, or scattered
// into, one block of each member.
std::string why_not_move_piece(const Program& program,
                               RankId rank,
                               const Op& op,
                               const LayoutStep& step);

// `in` has local_elements() under `from`, and `out` under `to`. Only for all_reduce they may be the
// same.
Result<void> redistribute(const Redistribution& r,
                          ConstTensorView in,
                          TensorView out,
                          Communicator& communicator);

}  // namespace orrery
