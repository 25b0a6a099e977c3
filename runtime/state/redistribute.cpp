// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/redistribute.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"
#include "runtime/bound_op.h"

namespace orrery {
namespace {

// A rank's part in global indices: one range of every dimension but the last, which has several,
// ascending.
struct Block {
    std::vector<DimensionRange> rows;
    std::vector<DimensionRange> columns;

    std::int64_t num_rows() const {
        std::int64_t count = 1;
        for (const DimensionRange& range : rows) {
            count *= range.count;
        }
        return count;
    }
    std::int64_t width() const {
        std::int64_t count = 0;
        for (const DimensionRange& range : columns) {
            count += range.count;
        }
        return count;
    }
};

Block block_of(const Redistribution& r, const Layout& layout, RankId rank) {
    Block block;
    const std::size_t last = r.shape.size() - 1;
    const auto range_of = [&](std::int64_t extent, std::size_t dim) {
        return local_range(extent, static_cast<int>(dim), layout, r.mesh, rank);
    };
    for (std::size_t dim = 0; dim < last; ++dim) {
        block.rows.push_back(range_of(r.shape[dim], dim));
    }
    if (r.column_parts.empty()) {
        block.columns = {range_of(r.shape[last], last)};
    }
    std::int64_t first = 0;
    for (const std::int64_t part : r.column_parts) {
        const DimensionRange own = range_of(part, last);
        block.columns.push_back({first + own.first, own.count});
        first += part;
    }
    return block;
}

DimensionRange common(const DimensionRange& a, const DimensionRange& b) {
    const std::int64_t first = std::max(a.first, b.first);
    const std::int64_t end = std::min(a.first + a.count, b.first + b.count);
    return {first, std::max<std::int64_t>(0, end - first)};
}

Block intersection(const Block& a, const Block& b) {
    Block both;
    for (std::size_t dim = 0; dim < a.rows.size(); ++dim) {
        both.rows.push_back(common(a.rows[dim], b.rows[dim]));
    }
    for (const DimensionRange& x : a.columns) {
        for (const DimensionRange& y : b.columns) {
            if (const DimensionRange columns = common(x, y); columns.count > 0) {
                both.columns.push_back(columns);
            }
        }
    }
    return both;
}

// The index in `whole` of row `row` of `part`.
std::int64_t row_in(const Block& whole, const Block& part, std::int64_t row) {
    std::int64_t position = 0;
    std::int64_t stride = 1;
    for (std::size_t dim = whole.rows.size(); dim-- > 0;) {
        const std::int64_t index = row % part.rows[dim].count;
        row /= part.rows[dim].count;
        position += (part.rows[dim].first - whole.rows[dim].first + index) * stride;
        stride *= whole.rows[dim].count;
    }
    return position;
}

// The position of a range of columns in the rows of `whole`, which must contain it.
std::int64_t column_in(const Block& whole, const DimensionRange& columns) {
    std::int64_t position = 0;
    for (const DimensionRange& range : whole.columns) {
        if (common(range, columns).count == columns.count) {
            return position + columns.first - range.first;
        }
        position += range.count;
    }
    ORRERY_CHECK(false);
    return 0;
}

// Copies the elements of `part` between two row-major blocks that contain it.
void copy_part(const Block& part,
               const Block& source_block,
               const std::byte* source,
               const Block& target_block,
               std::byte* target,
               std::int64_t element) {
    const std::int64_t rows = part.num_rows();
    for (const DimensionRange& columns : part.columns) {
        const std::int64_t from = column_in(source_block, columns);
        const std::int64_t to = column_in(target_block, columns);
        for (std::int64_t row = 0; row < rows; ++row) {
            const std::int64_t s = row_in(source_block, part, row) * source_block.width() + from;
            const std::int64_t t = row_in(target_block, part, row) * target_block.width() + to;
            std::memcpy(target + t * element,
                        source + s * element,
                        static_cast<std::size_t>(columns.count * element));
        }
    }
}

// Buffers for the blocks of all members, one after the other.
class Parts {
public:
    Parts(Dtype dtype, std::size_t members, std::int64_t elements)
        : dtype_(dtype), elements_(elements) {
        bytes_.resize(static_cast<std::size_t>(elements * size_bytes(dtype)) * members);
    }
    std::byte* of(std::size_t member) {
        return bytes_.data() + static_cast<std::int64_t>(member) * elements_ * size_bytes(dtype_);
    }
    TensorView view() {
        return {
            bytes_.data(), dtype_, static_cast<std::int64_t>(bytes_.size()) / size_bytes(dtype_)};
    }

private:
    Dtype dtype_;
    std::int64_t elements_;
    std::vector<std::byte> bytes_;
};

Result<void> gather(const Redistribution& r,
                    ConstTensorView in,
                    TensorView out,
                    Communicator& communicator) {
    Parts parts{in.dtype, r.members.size(), in.size};
    const Result<void> done = communicator.all_gather(in, parts.view());
    const Block mine = block_of(r, r.to, r.rank);
    for (std::size_t m = 0; done && m < r.members.size(); ++m) {
        const Block theirs = block_of(r, r.from, r.members[m]);
        copy_part(
            intersection(theirs, mine), theirs, parts.of(m), mine, out.data, size_bytes(in.dtype));
    }
    return done;
}

Result<void> scatter(const Redistribution& r,
                     ConstTensorView in,
                     TensorView out,
                     Communicator& communicator) {
    Parts parts{in.dtype, r.members.size(), out.size};
    const Block mine = block_of(r, r.from, r.rank);
    for (std::size_t m = 0; m < r.members.size(); ++m) {
        const Block theirs = block_of(r, r.to, r.members[m]);
        copy_part(
            intersection(theirs, mine), mine, in.data, theirs, parts.of(m), size_bytes(in.dtype));
    }
    return communicator.reduce_scatter(parts.view(), out);
}

// For each pair of members, exchanges the block that one has and the other needs. All blocks have
// equal size.
Result<void> exchange(const Redistribution& r,
                      ConstTensorView in,
                      TensorView out,
                      Communicator& communicator) {
    const auto members = static_cast<std::int64_t>(r.members.size());
    Parts sent{in.dtype, r.members.size(), in.size / members};
    Parts received{in.dtype, r.members.size(), in.size / members};
    const Block had = block_of(r, r.from, r.rank);
    const Block wanted = block_of(r, r.to, r.rank);
    const std::int64_t element = size_bytes(in.dtype);
    for (std::size_t m = 0; m < r.members.size(); ++m) {
        const Block part = intersection(had, block_of(r, r.to, r.members[m]));
        copy_part(part, had, in.data, part, sent.of(m), element);
    }
    const Result<void> done = communicator.all_to_all(sent.view(), received.view());
    for (std::size_t m = 0; done && m < r.members.size(); ++m) {
        const Block part = intersection(block_of(r, r.from, r.members[m]), wanted);
        copy_part(part, part, received.of(m), wanted, out.data, element);
    }
    return done;
}

}  // namespace

DimensionRange local_range(
    std::int64_t extent, int dim, const Layout& layout, const Mesh& mesh, RankId rank) {
    DimensionRange range{0, extent};
    for (const std::uint32_t digit : cutting_order(dim, mesh)) {
        if (layout[digit].placement == Placement::shard && layout[digit].dim == dim) {
            const std::int64_t size = mesh.size(digit);
            range.count = (range.count + size - 1) / size;
            range.first +=
                range.count *
                ((std::int64_t{mesh.coordinate(rank, digit)} + layout[digit].shift) % size);
        }
    }
    return range;
}

TensorView message_part(const Mesh& mesh, RankId rank, TensorView whole, const SendRecvPart& part) {
    DimensionRange range{0, whole.size};
    for (auto digit = static_cast<std::uint32_t>(mesh.digits().size()); digit-- > 0;) {
        if ((part.slice_digits >> digit & 1u) != 0) {
            range.count /= mesh.size(digit);
            range.first += range.count * mesh.coordinate(rank, digit);
        }
    }
    range.count /= part.pieces;
    range.first += range.count * part.piece;
    return slice(whole, range.first, range.count);
}

std::string why_not_redistribute(const Redistribution& r) {
    for (std::uint32_t digit = 0; digit < r.from.size(); ++digit) {
        const bool moves = (r.step.digits >> digit & 1u) != 0;
        for (const Layout* layout : {&r.from, &r.to}) {
            const DigitPlacement placement = (*layout)[digit];
            if (!moves || placement.placement != Placement::shard) {
                continue;
            }
            if (placement.mirrored || placement.shift != 0) {
                return "a dimension in mirrored or shifted pieces does not move";
            }
            bool finer = false;
            for (const std::uint32_t other : cutting_order(placement.dim, r.mesh)) {
                const bool same = (*layout)[other].placement == Placement::shard &&
                                  (*layout)[other].dim == placement.dim;
                if (finer && same && (r.step.digits >> other & 1u) == 0) {
                    return "a digit that stays cuts a dimension finer than one that moves";
                }
                finer = finer || other == digit;
            }
        }
    }
    return {};
}

std::string why_not_move_piece(const Program& program,
                               RankId rank,
                               const Op& op,
                               const LayoutStep& step) {
    const Mesh& mesh = program.mesh_of(rank);
    const Operand& from = program.operands[op.first_operand];
    const Operand& to = program.operands[op.first_operand + 1];
    if (from.pieces == 1 && to.pieces == 1) {
        return {};
    }
    std::int64_t members = 1;
    for (std::uint32_t digit = 0; digit < mesh.digits().size(); ++digit) {
        members *= (step.digits >> digit & 1u) != 0 ? mesh.size(digit) : 1;
    }
    const bool gathers = step.kind == CollectiveKind::all_gather;
    const Tensor& one = program.tensors[index(gathers ? from.tensor : to.tensor)];
    const Tensor& all = program.tensors[index(gathers ? to.tensor : from.tensor)];
    for (std::uint32_t digit = 0; digit < one.layout.size(); ++digit) {
        const bool moves = (step.digits >> digit & 1u) != 0;
        if (moves ? one.layout[digit] != sharded(kSequence)
                  : one.layout[digit] != all.layout[digit]) {
            return "only the sequence is moved in pieces";
        }
    }
    if ((!gathers && step.kind != CollectiveKind::reduce_scatter) || from.piece != to.piece ||
        from.pieces != to.pieces || one.sequence_blocks != 1 || all.sequence_blocks != members) {
        return "a collective in these pieces is not executed";
    }
    const std::string why = why_not_in_pieces(program, rank, from);
    return why.empty() ? why_not_in_pieces(program, rank, to) : why;
}

Result<void> redistribute(const Redistribution& r,
                          ConstTensorView in,
                          TensorView out,
                          Communicator& communicator) {
    ORRERY_CHECK(in.size == local_elements(r.shape, r.from, r.mesh));
    ORRERY_CHECK(out.size == local_elements(r.shape, r.to, r.mesh));
    switch (r.step.kind) {
        case CollectiveKind::all_gather:
            return gather(r, in, out, communicator);
        case CollectiveKind::reduce_scatter:
            return scatter(r, in, out, communicator);
        case CollectiveKind::all_to_all:
            return exchange(r, in, out, communicator);
        default:
            if (in.data != out.data) {
                std::memcpy(
                    out.data, in.data, static_cast<std::size_t>(in.size * size_bytes(in.dtype)));
            }
            return r.reduction == Reduction::max ? communicator.all_reduce_max(out)
                                                 : communicator.all_reduce(out);
    }
}

}  // namespace orrery
