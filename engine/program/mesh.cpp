// SPDX-License-Identifier: Apache-2.0
#include "engine/program/mesh.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace orrery {

Mesh::Mesh(std::vector<MeshDigit> digits, RankId first_rank, std::vector<MeshAxis> axes)
    : digits_(std::move(digits)),
      axes_(std::move(axes)),
      first_rank_(static_cast<std::uint32_t>(index(first_rank))) {
    ORRERY_CHECK(digits_.size() <= 32);
    std::uint32_t named = 0;
    for (const MeshAxis& a : axes_) {
        ORRERY_CHECK(a.digits != 0 &&
                     static_cast<std::size_t>(std::bit_width(a.digits)) <= digits_.size());
        named |= a.digits;
    }
    for (std::uint32_t d = 0; d < digits_.size(); ++d) {
        ORRERY_CHECK(digits_[d].size > 0);
        strides_.push_back(num_ranks_);
        num_ranks_ *= digits_[d].size;
        if ((named >> d & 1u) == 0) {
            axes_.push_back({.name = digits_[d].name, .digits = 1u << d});
        }
    }
    std::ranges::stable_sort(
        axes_, {}, [](const MeshAxis& a) { return std::countr_zero(a.digits); });
}

std::uint32_t Mesh::axis(std::string_view name) const {
    const auto found = std::ranges::find(axes_, name, &MeshAxis::name);
    ORRERY_CHECK(found != axes_.end());
    return found->digits;
}

std::uint32_t Mesh::digit(std::string_view name) const {
    const auto found = std::ranges::find(digits_, name, &MeshDigit::name);
    ORRERY_CHECK(found != digits_.end());
    return static_cast<std::uint32_t>(found - digits_.begin());
}

std::uint32_t Mesh::combined_size(std::uint32_t digits) const {
    std::uint32_t size = 1;
    for (std::uint32_t d = 0; d < digits_.size(); ++d) {
        size *= (digits >> d & 1u) != 0 ? digits_[d].size : 1;
    }
    return size;
}

std::uint32_t Mesh::combined_coordinate(RankId rank, std::uint32_t digits) const {
    std::uint32_t combined = 0;
    for (auto d = static_cast<std::uint32_t>(digits_.size()); d-- > 0;) {
        if ((digits >> d & 1u) != 0) {
            combined = combined * digits_[d].size + coordinate(rank, d);
        }
    }
    return combined;
}

std::string Mesh::name_of(std::uint32_t digits) const {
    const auto exact = std::ranges::find(axes_, digits, &MeshAxis::digits);
    if (exact != axes_.end()) {
        return exact->name;
    }
    std::string name;
    const auto add = [&](const std::string& text) { name += (name.empty() ? "" : "-") + text; };
    for (std::uint32_t d = 0; d < digits_.size(); ++d) {
        if ((digits >> d & 1u) == 0) {
            continue;
        }
        const auto whole = std::ranges::find_if(axes_, [&](const MeshAxis& a) {
            return (a.digits >> d & 1u) != 0 && (a.digits & ~digits) == 0;
        });
        add(whole == axes_.end() ? digits_[d].name : whole->name);
        digits &= whole == axes_.end() ? ~(1u << d) : ~whole->digits;
    }
    return name;
}

RankId Mesh::shifted(RankId rank, std::uint32_t digit, int delta) const {
    const auto size = static_cast<std::int64_t>(digits_[digit].size);
    const auto from = static_cast<std::int64_t>(coordinate(rank, digit));
    const std::int64_t to = ((from + delta) % size + size) % size;
    return to_id<RankId>(index(rank) + static_cast<std::size_t>(to - from) * strides_[digit]);
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
    for (std::uint32_t a = 0; a < digits_.size(); ++a) {
        if ((group.digits >> a & 1u) != 0) {
            base -= static_cast<std::size_t>(coordinate(rank, a)) * strides_[a];
        }
    }
    std::vector<RankId> found{to_id<RankId>(base)};
    for (std::uint32_t a = 0; a < digits_.size(); ++a) {
        if ((group.digits >> a & 1u) == 0) {
            continue;
        }
        std::vector<RankId> wider;
        wider.reserve(found.size() * digits_[a].size);
        for (std::uint32_t c = 0; c < digits_[a].size; ++c) {
            if (!group.subset.empty() && a == group.subset_digit && !in_subset(c)) {
                continue;
            }
            for (const RankId r : found) {
                wider.push_back(to_id<RankId>(index(r) + std::size_t{c} * strides_[a]));
            }
        }
        found = std::move(wider);
    }
    // Later digits have larger strides, so that the ranks ascend.
    const bool takes_part = std::binary_search(found.begin(), found.end(), rank);
    return takes_part ? found : std::vector<RankId>{};
}

std::uint32_t Mesh::group_size(const Group& group) const {
    std::uint32_t size = 1;
    for (std::uint32_t a = 0; a < digits_.size(); ++a) {
        if ((group.digits >> a & 1u) != 0) {
            const bool cut = !group.subset.empty() && a == group.subset_digit;
            size *= cut ? static_cast<std::uint32_t>(group.subset.size()) : digits_[a].size;
        }
    }
    return size;
}

}  // namespace orrery
