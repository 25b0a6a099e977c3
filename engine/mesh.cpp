// SPDX-License-Identifier: Apache-2.0
#include "engine/mesh.h"

#include <algorithm>

#include "engine/check.h"

namespace orrery {

Mesh::Mesh(std::vector<MeshAxis> axes, RankId first_rank)
    : axes_(std::move(axes)), first_rank_(static_cast<std::uint32_t>(index(first_rank))) {
    for (const MeshAxis& a : axes_) {
        ORRERY_CHECK(a.size > 0);
        strides_.push_back(num_ranks_);
        num_ranks_ *= a.size;
    }
}

std::uint32_t Mesh::axis(std::string_view name) const {
    const auto found =
        std::find_if(axes_.begin(), axes_.end(), [&](const MeshAxis& a) { return a.name == name; });
    ORRERY_CHECK(found != axes_.end());
    return static_cast<std::uint32_t>(found - axes_.begin());
}

RankId Mesh::shifted(RankId rank, std::uint32_t axis, int delta) const {
    const auto size = static_cast<std::int64_t>(axes_[axis].size);
    const auto from = static_cast<std::int64_t>(coordinate(rank, axis));
    const std::int64_t to = ((from + delta) % size + size) % size;
    return to_id<RankId>(index(rank) + static_cast<std::size_t>(to - from) * strides_[axis]);
}

std::vector<RankId> Mesh::members(const Group& group, RankId rank) const {
    for (const std::vector<RankId>& ranks : group.explicit_ranks) {
        if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) {
            return ranks;
        }
    }
    if (!group.explicit_ranks.empty()) {
        return {};
    }
    const auto in_subset = [&](std::uint32_t coordinate) {
        return std::find(group.subset.begin(), group.subset.end(), coordinate) !=
               group.subset.end();
    };
    std::size_t base = index(rank);
    for (std::uint32_t a = 0; a < axes_.size(); ++a) {
        if ((group.axes >> a & 1u) != 0) {
            base -= static_cast<std::size_t>(coordinate(rank, a)) * strides_[a];
        }
    }
    std::vector<RankId> found{to_id<RankId>(base)};
    for (std::uint32_t a = 0; a < axes_.size(); ++a) {
        if ((group.axes >> a & 1u) == 0) {
            continue;
        }
        std::vector<RankId> wider;
        wider.reserve(found.size() * axes_[a].size);
        for (std::uint32_t c = 0; c < axes_[a].size; ++c) {
            if (!group.subset.empty() && a == group.subset_axis && !in_subset(c)) {
                continue;
            }
            for (const RankId r : found) {
                wider.push_back(to_id<RankId>(index(r) + std::size_t{c} * strides_[a]));
            }
        }
        found = std::move(wider);
    }
    // Later axes have larger strides: the ranks ascend.
    const bool takes_part = std::binary_search(found.begin(), found.end(), rank);
    return takes_part ? found : std::vector<RankId>{};
}

std::uint32_t Mesh::group_size(const Group& group) const {
    std::uint32_t size = 1;
    for (std::uint32_t a = 0; a < axes_.size(); ++a) {
        if ((group.axes >> a & 1u) != 0) {
            const bool cut = !group.subset.empty() && a == group.subset_axis;
            size *= cut ? static_cast<std::uint32_t>(group.subset.size()) : axes_[a].size;
        }
    }
    return size;
}

}  // namespace orrery
