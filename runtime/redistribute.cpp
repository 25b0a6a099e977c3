// SPDX-License-Identifier: Apache-2.0
#include "runtime/redistribute.h"

#include <algorithm>
#include <cstring>

#include "engine/check.h"

namespace orrery {
namespace {

using Block = std::vector<DimensionRange>;  // by dimension, in global indices

Block block_of(const Redistribution& r, const Layout& layout, RankId rank) {
    Block block;
    for (std::size_t dim = 0; dim < r.shape.size(); ++dim) {
        block.push_back(local_range(r.shape[dim], static_cast<int>(dim), layout, r.mesh, rank));
    }
    return block;
}

std::int64_t elements_of(const Block& block) {
    std::int64_t elements = 1;
    for (const DimensionRange& range : block) {
        elements *= range.count;
    }
    return elements;
}

Block intersection(const Block& a, const Block& b) {
    Block common;
    for (std::size_t dim = 0; dim < a.size(); ++dim) {
        const std::int64_t first = std::max(a[dim].first, b[dim].first);
        const std::int64_t end = std::min(a[dim].first + a[dim].count, b[dim].first + b[dim].count);
        common.push_back({first, std::max<std::int64_t>(0, end - first)});
    }
    return common;
}

// The position of the first element of row `row` of `part` in the row-major `whole`.
std::int64_t row_position(const Block& whole, const Block& part, std::int64_t row) {
    const std::size_t last = whole.size() - 1;
    std::int64_t position = part[last].first - whole[last].first;
    std::int64_t stride = whole[last].count;
    for (std::size_t dim = last; dim-- > 0;) {
        const std::int64_t index = row % part[dim].count;
        row /= part[dim].count;
        position += (part[dim].first - whole[dim].first + index) * stride;
        stride *= whole[dim].count;
    }
    return position;
}

// Copies the elements of `part` between two row-major blocks that contain it.
void copy_part(const Block& part,
               const Block& source_block,
               const std::byte* source,
               const Block& target_block,
               std::byte* target,
               std::int64_t element) {
    const std::int64_t width = part.back().count;
    const std::int64_t elements = elements_of(part);
    if (elements == 0) {
        return;
    }
    for (std::int64_t row = 0; row < elements / width; ++row) {
        std::memcpy(target + row_position(target_block, part, row) * element,
                    source + row_position(source_block, part, row) * element,
                    static_cast<std::size_t>(width * element));
    }
}

// Buffers of all members' blocks one after the other.
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

// Of each pair of members, what one has and the other wants. All such blocks are equally large.
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
    for (std::uint32_t axis = static_cast<std::uint32_t>(layout.size()); axis-- > 0;) {
        if (layout[axis] == sharded(dim)) {
            const std::int64_t size = mesh.size(axis);
            range.count = (range.count + size - 1) / size;
            range.first += range.count * mesh.coordinate(rank, axis);
        }
    }
    return range;
}

std::string why_not_redistribute(const Redistribution& r) {
    for (std::uint32_t axis = 0; axis < r.from.size(); ++axis) {
        const bool moves = (r.step.axes >> axis & 1u) != 0;
        for (const Layout* layout : {&r.from, &r.to}) {
            const AxisPlacement placement = (*layout)[axis];
            if (!moves || placement.placement != Placement::shard) {
                continue;
            }
            for (std::uint32_t finer = 0; finer < axis; ++finer) {
                if ((r.step.axes >> finer & 1u) == 0 && (*layout)[finer] == placement) {
                    return "an axis that stays cuts a dimension finer than one that moves";
                }
            }
        }
    }
    return {};
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
