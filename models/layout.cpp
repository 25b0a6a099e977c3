// SPDX-License-Identifier: Apache-2.0
#include "models/layout.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/check.h"

namespace orrery {
namespace {

bool is_shard(AxisPlacement p, int dim) {
    return p.placement == Placement::shard && p.dim == dim;
}

bool is_token_shard(AxisPlacement p) {
    return is_shard(p, kSequence) || is_shard(p, kBatch);
}

Layout transposed(Layout weight) {
    for (AxisPlacement& p : weight) {
        if (p.placement == Placement::shard) {
            p = sharded(p.dim == kInput ? kOutput : kInput);
        }
    }
    return weight;
}

}  // namespace

std::vector<std::uint32_t> cutting_order(int dim, const Mesh& mesh) {
    const auto axes = static_cast<std::uint32_t>(mesh.axes().size());
    std::vector<std::uint32_t> order(axes);
    std::iota(order.begin(), order.end(), 0u);
    if (dim != kWidth) {
        std::reverse(order.begin(), order.end());
        return order;
    }
    for (std::uint32_t first = 0; first < axes;) {
        std::uint32_t end = first + 1;
        while (end < axes && mesh.axes()[end - 1].low_digit) {
            ++end;
        }
        std::reverse(order.begin() + first, order.begin() + end);
        first = end;
    }
    return order;
}

Layout from_neighbour(Layout layout, std::uint32_t axis, int hops, const Mesh& mesh) {
    ORRERY_CHECK(layout[axis].placement == Placement::shard);
    const int size = static_cast<int>(mesh.size(axis));
    const int shift = (layout[axis].shift + hops) % size;
    layout[axis].shift = static_cast<std::int16_t>(shift < 0 ? shift + size : shift);
    return layout;
}

std::vector<LayoutStep> transition(const Layout& from, const Layout& to) {
    ORRERY_CHECK(from.size() == to.size());
    // In the order in which they run. Scattering comes first: hybrid sharding all-reduces shards.
    std::array<LayoutStep, 4> steps{{{CollectiveKind::reduce_scatter, 0},
                                     {CollectiveKind::all_reduce, 0},
                                     {CollectiveKind::all_to_all, 0},
                                     {CollectiveKind::all_gather, 0}}};
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
        const AxisPlacement a = from[axis];
        const AxisPlacement b = to[axis];
        const std::uint32_t bit = 1u << axis;
        if (a == b || a.placement == Placement::replicate) {
            ORRERY_CHECK(a == b || b.placement != Placement::partial);
            continue;
        }
        ORRERY_CHECK(b.placement != Placement::partial);
        if (a.placement == Placement::partial) {
            steps[b.placement == Placement::shard ? 0 : 1].axes |= bit;
        } else {
            steps[b.placement == Placement::shard ? 2 : 3].axes |= bit;
        }
    }
    std::vector<LayoutStep> needed;
    for (const LayoutStep& step : steps) {
        if (step.axes != 0) {
            needed.push_back(step);
        }
    }
    return needed;
}

std::int64_t local_extent(std::int64_t extent, int dim, const Layout& layout, const Mesh& mesh) {
    for (std::uint32_t axis = 0; axis < layout.size(); ++axis) {
        if (is_shard(layout[axis], dim)) {
            const std::int64_t size = mesh.size(axis);
            extent = (extent + size - 1) / size;
        }
    }
    return extent;
}

std::int64_t local_elements(const std::vector<std::int64_t>& shape,
                            const Layout& layout,
                            const Mesh& mesh) {
    std::int64_t elements = 1;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        elements *= local_extent(shape[dim], static_cast<int>(dim), layout, mesh);
    }
    return elements;
}

Layout gemm_input(const Layout& x, const Layout& weight) {
    Layout needed = x;
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
        if (is_shard(weight[axis], kInput)) {
            needed[axis] = sharded(kWidth);  // both operands hold the same slice of the sum
        } else if (is_shard(weight[axis], kOutput)) {
            needed[axis] = replicated();  // each output column needs whole rows of x
        } else if (is_shard(x[axis], kWidth) || x[axis].placement == Placement::partial) {
            needed[axis] = replicated();
        }
    }
    return needed;
}

Layout gemm_output(const Layout& x, const Layout& weight) {
    Layout y = x;
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
        if (is_shard(weight[axis], kInput)) {
            ORRERY_CHECK(is_shard(x[axis], kWidth));
            y[axis] = partial();
        } else if (is_shard(weight[axis], kOutput)) {
            ORRERY_CHECK(x[axis] == replicated());
            y[axis] = sharded(kWidth);
        }
    }
    return y;
}

Layout gemm_gradient_input(const Layout& dy, const Layout& weight) {
    return gemm_input(dy, transposed(weight));
}

Layout gemm_gradient_output(const Layout& dy, const Layout& weight) {
    return gemm_output(dy, transposed(weight));
}

Layout weight_gradient(const Layout& x, const Layout& dy) {
    ORRERY_CHECK(x.size() == dy.size());
    Layout dw(x.size());
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
        if (is_token_shard(x[axis])) {
            ORRERY_CHECK(x[axis] == dy[axis]);
            dw[axis] = partial();
        } else if (is_shard(x[axis], kWidth)) {
            dw[axis] = sharded(kInput);
        } else if (is_shard(dy[axis], kWidth)) {
            dw[axis] = sharded(kOutput);
        }
    }
    return dw;
}

}  // namespace orrery
