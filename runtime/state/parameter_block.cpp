// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/parameter_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "engine/base/check.h"
#include "runtime/state/redistribute.h"

namespace orrery {
namespace {

constexpr std::int64_t kExtentMax = std::int64_t{1} << 40;

std::int64_t count_of(const std::vector<BlockPiece>& pieces) {
    std::int64_t count = 0;
    for (const BlockPiece& piece : pieces) {
        count += piece.count;
    }
    return count;
}

std::vector<BlockPiece> pieces_of(
    std::int64_t extent, int dim, const Tensor& weight, const Mesh& mesh, RankId rank) {
    const DimensionRange range = local_range(extent, dim, weight.layout, mesh, rank);
    const std::int64_t real =
        std::clamp<std::int64_t>(extent - range.first, 0, range.count);  // without padding
    std::vector<BlockPiece> pieces;
    if (real > 0) {
        pieces.push_back({range.first, real});
    }
    if (real < range.count) {
        pieces.push_back({-1, range.count - real});
    }
    return pieces;
}

// Appends pieces; pieces that are consecutive in the whole become one.
void append(std::vector<BlockPiece>& to, std::vector<BlockPiece> pieces, std::int64_t offset) {
    for (BlockPiece piece : pieces) {
        piece.first += piece.first < 0 ? 0 : offset;
        const bool joins = !to.empty() && piece.first >= 0 && to.back().first >= 0 &&
                           to.back().first + to.back().count == piece.first;
        if (joins) {
            to.back().count += piece.count;
        } else {
            to.push_back(piece);
        }
    }
}

bool inside(const std::vector<BlockPiece>& pieces, std::int64_t extent) {
    std::int64_t together = 0;
    return std::ranges::all_of(pieces, [&](const BlockPiece& piece) {
        together += std::min(piece.count, kExtentMax);
        return piece.count > 0 && together <= 2 * extent && piece.first >= -1 &&
               (piece.first < 0 || (piece.first <= extent && piece.count <= extent - piece.first));
    });
}

bool read_pieces(std::istringstream& text, std::vector<BlockPiece>& pieces, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        BlockPiece piece;
        if (!(text >> piece.first >> piece.count)) {
            return false;
        }
        pieces.push_back(piece);
    }
    return true;
}

std::string pieces_text(const std::vector<BlockPiece>& pieces) {
    std::string text = fmt::format(" {}", pieces.size());
    for (const BlockPiece& piece : pieces) {
        text += fmt::format(" {} {}", piece.first, piece.count);
    }
    return text;
}

}  // namespace

std::int64_t ParameterBlock::local_elements() const {
    return count_of(row_pieces) * count_of(column_pieces);
}

void ParameterBlock::for_each_run(ElementRange range, const Run& run) const {
    const std::int64_t end = range.first + range.count;
    const std::int64_t width = count_of(column_pieces);
    std::int64_t begin_of_row = 0;
    for (const BlockPiece& row_piece : row_pieces) {
        for (std::int64_t i = 0; i < row_piece.count; ++i, begin_of_row += width) {
            if (row_piece.first < 0 || begin_of_row >= end || begin_of_row + width <= range.first) {
                continue;
            }
            std::int64_t local = begin_of_row;
            for (const BlockPiece& piece : column_pieces) {
                const std::int64_t first = std::max(local, range.first);
                const std::int64_t count = std::min(local + piece.count, end) - first;
                if (piece.first >= 0 && count > 0) {
                    const std::int64_t row = row_piece.first + i;
                    run(first, row * columns + piece.first + (first - local), count);
                }
                local += piece.count;
            }
        }
    }
}

std::string ParameterBlock::to_text() const {
    return fmt::format(
        "{} {}{}{}", rows, columns, pieces_text(row_pieces), pieces_text(column_pieces));
}

Result<ParameterBlock> ParameterBlock::from_text(const std::string& text) {
    std::istringstream in{text};
    ParameterBlock block;
    constexpr std::size_t kPiecesMax = 1000;
    std::size_t pieces = 0;
    bool good = static_cast<bool>(in >> block.rows >> block.columns >> pieces) &&
                pieces <= kPiecesMax && read_pieces(in, block.row_pieces, pieces);
    good = good && in >> pieces && pieces <= kPiecesMax &&
           read_pieces(in, block.column_pieces, pieces);
    good = good && block.rows > 0 && block.rows <= kExtentMax && block.columns > 0 &&
           block.columns <= kExtentMax && block.columns <= (std::int64_t{1} << 58) / block.rows &&
           inside(block.row_pieces, block.rows) && inside(block.column_pieces, block.columns);
    if (!good || !(in >> std::ws).eof()) {
        return fail("", fmt::format("'{}' describes no part of a parameter", text));
    }
    return block;
}

ParameterBlock block_of_parameter(const Program& program, const Tensor& weight, RankId rank) {
    const std::vector<std::int64_t>& shape = weight.global_shape;
    ORRERY_CHECK(shape.size() == 2 || shape.size() == 3);
    const Mesh& mesh = program.mesh_of(rank);
    const int last = static_cast<int>(shape.size()) - 1;
    const std::int64_t rows = last == 1 ? 1 : shape[1];  // rows of each first index
    ParameterBlock block{shape[0] * rows, shape.back(), {}, {}};
    const std::vector<BlockPiece> of_one =
        last == 1 ? std::vector{BlockPiece{0, 1}} : pieces_of(rows, 1, weight, mesh, rank);
    for (const BlockPiece& piece : pieces_of(shape[0], 0, weight, mesh, rank)) {
        for (std::int64_t i = 0; i < piece.count; ++i) {
            const bool padding = piece.first < 0;
            append(block.row_pieces,
                   padding ? std::vector{BlockPiece{-1, count_of(of_one)}} : of_one,
                   padding ? 0 : (piece.first + i) * rows);
        }
    }
    std::int64_t offset = 0;
    const std::vector<std::int64_t> whole{block.columns};
    for (const std::int64_t width : weight.column_parts.empty() ? whole : weight.column_parts) {
        append(block.column_pieces, pieces_of(width, last, weight, mesh, rank), offset);
        offset += width;
    }
    ORRERY_CHECK(offset == block.columns);
    return block;
}

}  // namespace orrery
