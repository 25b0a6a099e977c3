// SPDX-License-Identifier: Apache-2.0
#include "models/plan/layout.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/base/check.h"

namespace orrery {
namespace {

bool is_shard(DigitPlacement p, int dim) {
    return p.placement == Placement::shard && p.dim == dim;
}

bool is_token_shard(DigitPlacement p) {
    return is_shard(p, kSequence) || is_shard(p, kBatch);
}

Layout transposed(Layout weight) {
    for (DigitPlacement& p : weight) {
        if (p.placement == Placement::shard && p.dim != kExpert) {
            p = sharded(p.dim == kInput ? kOutput : kInput);
        }
    }
    return weight;
}

}  // namespace

std::vector<std::uint32_t> cutting_order(int dim, const Mesh& mesh) {
    const auto digits = static_cast<std::uint32_t>(mesh.digits().size());
    std::vector<std::uint32_t> order(digits);
    std::iota(order.begin(), order.end(), 0u);
    std::reverse(order.begin(), order.end());
    if (dim == kWidth) {
        const auto axis_of = [&](std::uint32_t digit) {
            return std::ranges::find_if(mesh.axes(), [&](const MeshAxis& axis) {
                return (axis.digits >> digit & 1u) != 0;
            });
        };
        std::ranges::stable_sort(order, {}, axis_of);
    }
    return order;
}

Layout along(const Mesh& mesh, std::uint32_t digits, DigitPlacement placement) {
    Layout layout(mesh.digits().size());
    for (std::uint32_t digit = 0; digit < layout.size(); ++digit) {
        if ((digits >> digit & 1u) != 0 && mesh.size(digit) > 1) {
            layout[digit] = placement;
        }
    }
    return layout;
}

std::uint32_t digits_with(const Layout& layout, Placement placement) {
    std::uint32_t digits = 0;
    for (std::uint32_t digit = 0; digit < layout.size(); ++digit) {
        digits |= layout[digit].placement == placement ? 1u << digit : 0u;
    }
    return digits;
}

Layout combined(Layout layout, const Layout& other) {
    ORRERY_CHECK(layout.size() == other.size());
    for (std::size_t digit = 0; digit < layout.size(); ++digit) {
        if (layout[digit] == replicated()) {
            layout[digit] = other[digit];
        }
    }
    return layout;
}

Layout from_neighbour(Layout layout, std::uint32_t digit, int hops, const Mesh& mesh) {
    ORRERY_CHECK(layout[digit].placement == Placement::shard);
    const int size = static_cast<int>(mesh.size(digit));
    const int shift = (layout[digit].shift + hops) % size;
    layout[digit].shift = static_cast<std::int16_t>(shift < 0 ? shift + size : shift);
    return layout;
}

std::vector<LayoutStep> transition(const Layout& from, const Layout& to) {
    ORRERY_CHECK(from.size() == to.size());
    // In the order of execution. Scattering comes first, because hybrid sharding all-reduces
    // shards.
    std::array<LayoutStep, 4> steps{{{CollectiveKind::reduce_scatter, 0},
                                     {CollectiveKind::all_reduce, 0},
                                     {CollectiveKind::all_to_all, 0},
                                     {CollectiveKind::all_gather, 0}}};
    const auto cut = [](DigitPlacement p) {
        return p.placement == Placement::shard || p.placement == Placement::flat ||
               p.placement == Placement::routed;
    };
    for (std::size_t digit = 0; digit < from.size(); ++digit) {
        const DigitPlacement a = from[digit];
        const DigitPlacement b = to[digit];
        if (a == b || a.placement == Placement::replicate) {
            ORRERY_CHECK(a == b || b.placement != Placement::partial);
            continue;
        }
        ORRERY_CHECK(b.placement != Placement::partial);
        const std::size_t reduces = cut(b) ? 0 : 1;
        const std::size_t exchanges = cut(b) ? 2 : 3;
        steps[a.placement == Placement::partial ? reduces : exchanges].digits |= 1u << digit;
    }
    std::vector<LayoutStep> needed;
    for (const LayoutStep& step : steps) {
        if (step.digits != 0) {
            needed.push_back(step);
        }
    }
    return needed;
}

std::int64_t local_extent(std::int64_t extent, int dim, const Layout& layout, const Mesh& mesh) {
    for (std::uint32_t digit = 0; digit < layout.size(); ++digit) {
        if (is_shard(layout[digit], dim) || layout[digit] == routed(dim)) {
            const std::int64_t size = mesh.size(digit);
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
    std::int64_t parts = 1;
    for (std::uint32_t digit = 0; digit < layout.size(); ++digit) {
        parts *= layout[digit].placement == Placement::flat ? mesh.size(digit) : 1;
    }
    return parts == 1 ? elements : (elements + parts - 1) / parts;
}

Layout gemm_input(const Layout& x, const Layout& weight) {
    Layout needed = x;
    for (std::size_t digit = 0; digit < x.size(); ++digit) {
        if (is_shard(weight[digit], kInput)) {
            needed[digit] = sharded(kWidth);  // both operands hold the same slice of the sum
        } else if (is_shard(weight[digit], kOutput)) {
            needed[digit] = replicated();  // each output column needs whole rows of x
        } else if (is_shard(x[digit], kWidth) || x[digit].placement == Placement::partial) {
            needed[digit] = replicated();
        }
    }
    return needed;
}

Layout gemm_output(const Layout& x, const Layout& weight) {
    Layout y = x;
    for (std::size_t digit = 0; digit < x.size(); ++digit) {
        if (is_shard(weight[digit], kInput)) {
            ORRERY_CHECK(is_shard(x[digit], kWidth));
            y[digit] = partial();
        } else if (is_shard(weight[digit], kOutput)) {
            ORRERY_CHECK(x[digit] == replicated());
            y[digit] = sharded(kWidth);
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
    for (std::size_t digit = 0; digit < x.size(); ++digit) {
        if (x[digit].placement == Placement::routed) {
            ORRERY_CHECK(x[digit] == dy[digit]);
            dw[digit] = sharded(kExpert);
        } else if (is_token_shard(x[digit])) {
            ORRERY_CHECK(x[digit] == dy[digit]);
            dw[digit] = partial();
        } else if (is_shard(x[digit], kWidth)) {
            dw[digit] = sharded(kInput);
        } else if (is_shard(dy[digit], kWidth)) {
            dw[digit] = sharded(kOutput);
        }
    }
    return dw;
}

}  // namespace orrery
