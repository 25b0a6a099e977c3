// SPDX-License-Identifier: Apache-2.0
#include "runtime/parameter_rounding.h"

#include <limits>

#include "engine/base/check.h"
#include "kernels/random.h"
#include "runtime/state/initialise.h"
#include "runtime/state/parameter_block.h"

namespace orrery {
namespace {

std::int32_t narrow(std::int64_t n) {
    ORRERY_CHECK(n >= 0 && n <= std::numeric_limits<std::int32_t>::max());
    return static_cast<std::int32_t>(n);
}

}  // namespace

bool rounds_stochastically(const BoundOperand& weight) {
    return weight.tensor->random_purpose ==
           static_cast<std::int32_t>(RandomPurpose::stochastic_rounding);
}

std::uint32_t rounding_stream(const BoundOperand& weight) {
    return stream_of_parameter(weight.tensor->parameter);
}

ParameterPlace parameter_place(const BoundOp& op, const BoundOperand& weight) {
    ParameterPlace place{.first_element = weight.first_element};
    if (!rounds_stochastically(weight)) {
        return place;
    }
    const ParameterBlock block = block_of_parameter(op.program, *weight.tensor, op.rank);
    const auto& columns = block.column_pieces;
    ORRERY_CHECK(columns.size() <= ParameterPlace::kRanges && !block.row_pieces.empty());
    place.row_length = narrow(block.columns);
    place.first_row = narrow(std::max<std::int64_t>(block.row_pieces.front().first, 0));
    for (std::size_t r = 0; r < ParameterPlace::kRanges; ++r) {
        const BlockPiece piece = r < columns.size() ? columns[r] : BlockPiece{0, 0};
        place.first[r] =
            // Skips padding, which belongs to no parameter
            narrow(std::max<std::int64_t>(piece.first, 0));
        place.begin[r + 1] = narrow(place.begin[r] + piece.count);
    }
    place.width = place.begin[ParameterPlace::kRanges];
    return place;
}

}  // namespace orrery
