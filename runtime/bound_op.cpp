// SPDX-License-Identifier: Apache-2.0
#include "runtime/bound_op.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/check.h"
#include "models/plan/layout.h"
#include "runtime/state/redistribute.h"

namespace orrery {
namespace {

// Tokens `first` … `first + count - 1` of the concatenated `pieces`.
std::vector<DimensionRange> cut(const std::vector<DimensionRange>& pieces,
                                std::int64_t first,
                                std::int64_t count) {
    std::vector<DimensionRange> result;
    std::int64_t before = 0;
    for (const DimensionRange& piece : pieces) {
        const std::int64_t begin = std::max(first, before);
        const std::int64_t end = std::min(first + count, before + piece.count);
        if (begin < end) {
            result.push_back({piece.first + begin - before, end - begin});
        }
        before += piece.count;
    }
    return result;
}

}  // namespace

void take_piece(BoundOperand& operand, std::int64_t piece, std::int64_t pieces) {
    if (pieces == 1) {
        return;
    }
    operand.blocks = operand.tensor->sequence_blocks;
    operand.block_stride = operand.view.size / operand.blocks;
    const std::int64_t size = operand.block_stride / pieces;
    ORRERY_CHECK(size * pieces * operand.blocks == operand.view.size);
    operand.view =
        slice(operand.view, piece * size, (operand.blocks - 1) * operand.block_stride + size);
}

std::string why_not_in_pieces(const Program& program, RankId rank, const Operand& operand) {
    if (operand.pieces == 1) {
        return {};
    }
    const Tensor& tensor = program.tensors[index(operand.tensor)];
    if (tensor.global_shape.size() != 3 || operand.transposed) {
        return "only activations are taken in pieces";
    }
    const std::int64_t sequence = local_extent(
        tensor.global_shape[kSequence], kSequence, tensor.layout, program.mesh_of(rank));
    const std::int64_t parts = tensor.sequence_blocks * operand.pieces;
    return sequence % parts == 0 ? ""
                                 : fmt::format("{} positions are not {} equal pieces of {} blocks",
                                               sequence,
                                               operand.pieces,
                                               tensor.sequence_blocks);
}

SequencePositions token_positions(const Program& program, RankId rank, const Tensor& activation) {
    std::int64_t length = activation.global_shape[kSequence];
    std::vector<DimensionRange> pieces{{0, length}};
    for (auto digit = static_cast<std::uint32_t>(activation.layout.size()); digit-- > 0;) {
        const DigitPlacement& placement = activation.layout[digit];
        if (placement.placement != Placement::shard || placement.dim != kSequence) {
            continue;
        }
        const std::int64_t size = program.mesh_of(rank).size(digit);
        const std::int64_t c =
            (std::int64_t{program.mesh_of(rank).coordinate(rank, digit)} + placement.shift) % size;
        length = (length + size - 1) / size;
        if (!placement.mirrored) {
            pieces = cut(pieces, c * length, length);
            continue;
        }
        const std::int64_t half = length / 2;
        std::vector<DimensionRange> both = cut(pieces, c * half, half);
        const auto late = cut(pieces, (2 * size - 1 - c) * half, half);
        both.insert(both.end(), late.begin(), late.end());
        pieces = std::move(both);
    }
    if (pieces.size() == 1) {
        return contiguous_positions(length, pieces[0].first);
    }
    ORRERY_CHECK(pieces.size() == 2 && pieces[0].count == pieces[1].count);
    return {.length = length, .first = pieces[0].first, .second_half = pieces[1].first};
}

LocalShape local_shape(const Program& program, RankId rank, const Tensor& activation) {
    const std::vector<std::int64_t>& shape = activation.global_shape;
    ORRERY_CHECK(shape.size() == 3);
    const auto extent = [&](int dim) {
        return local_extent(
            shape[static_cast<std::size_t>(dim)], dim, activation.layout, program.mesh_of(rank));
    };
    return {.sequence = extent(kSequence),
            .batch = extent(kBatch),
            .width = extent(kWidth),
            .positions = token_positions(program, rank, activation)};
}

}  // namespace orrery
