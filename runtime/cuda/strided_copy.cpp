// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/strided_copy.h"

#include <algorithm>

namespace orrery {
namespace {

// The position of the first element of row `row` of `part` in the row-major `whole`.
std::int64_t row_position(const LocalBlock& whole, const LocalBlock& part, std::int64_t row) {
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

// Extends the copy by one row if the row continues its pattern.
bool extend(StridedCopy& copy, std::int64_t from, std::int64_t to) {
    if (copy.rows == 1) {
        copy.from_pitch = from - copy.from;
        copy.to_pitch = to - copy.to;
    }
    if (from != copy.from + copy.rows * copy.from_pitch ||
        to != copy.to + copy.rows * copy.to_pitch) {
        return false;
    }
    ++copy.rows;
    return true;
}

LocalBlock local_block(const Redistribution& r, const Layout& layout, RankId rank) {
    LocalBlock block;
    for (std::size_t dim = 0; dim < r.shape.size(); ++dim) {
        block.push_back(local_range(r.shape[dim], static_cast<int>(dim), layout, r.mesh, rank));
    }
    return block;
}

}  // namespace

std::vector<HeldPart> held_parts(const Redistribution& r, const Layout& layout, RankId rank) {
    const LocalBlock whole = local_block(r, layout, rank);
    if (r.column_parts.empty()) {
        return {{whole, whole}};
    }
    const int last = static_cast<int>(whole.size()) - 1;
    std::vector<HeldPart> parts;
    std::int64_t before = 0;  // columns of the parts before it, per row
    for (const std::int64_t columns : r.column_parts) {
        HeldPart part{whole, whole};
        const DimensionRange own = local_range(columns, last, layout, r.mesh, rank);
        part.range.back() = own;
        part.memory.back().first = own.first - before;
        before += own.count;
        parts.push_back(std::move(part));
    }
    for (HeldPart& part : parts) {
        part.memory.back().count = before;
    }
    return parts;
}

LocalBlock common_block(const LocalBlock& a, const LocalBlock& b) {
    LocalBlock common;
    for (std::size_t dim = 0; dim < a.size(); ++dim) {
        const std::int64_t first = std::max(a[dim].first, b[dim].first);
        const std::int64_t end = std::min(a[dim].first + a[dim].count, b[dim].first + b[dim].count);
        common.push_back({first, std::max<std::int64_t>(0, end - first)});
    }
    return common;
}

std::int64_t elements_of(const LocalBlock& block) {
    std::int64_t elements = 1;
    for (const DimensionRange& range : block) {
        elements *= range.count;
    }
    return elements;
}

std::vector<StridedCopy> strided_copies(const LocalBlock& part,
                                        const LocalBlock& from,
                                        const LocalBlock& to) {
    std::vector<StridedCopy> copies;
    const std::int64_t elements = elements_of(part);
    if (elements == 0) {
        return copies;
    }
    const std::int64_t width = part.back().count;
    for (std::int64_t row = 0; row < elements / width; ++row) {
        const std::int64_t source = row_position(from, part, row);
        const std::int64_t target = row_position(to, part, row);
        if (copies.empty() || !extend(copies.back(), source, target)) {
            copies.push_back({.from = source,
                              .to = target,
                              .width = width,
                              .rows = 1,
                              .from_pitch = width,
                              .to_pitch = width});
        }
    }
    // Rows that touch become one.
    for (StridedCopy& copy : copies) {
        if (copy.rows > 1 && copy.from_pitch == copy.width && copy.to_pitch == copy.width) {
            copy.width *= copy.rows;
            copy.rows = 1;
            copy.from_pitch = copy.to_pitch = copy.width;
        }
    }
    return copies;
}

}  // namespace orrery
