// SPDX-License-Identifier: Apache-2.0
// Footprints by id, stored one after the other in one array (CSR).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/ids.h"
#include "engine/program/network_model.h"

namespace orrery {

// The links must exist, ascend, and have positive counts.
inline void check_footprint(std::span<const LinkShare> footprint, std::size_t num_links) {
    for (std::size_t i = 0; i < footprint.size(); ++i) {
        ORRERY_CHECK(index(footprint[i].link) < num_links && footprint[i].count > 0);
        ORRERY_CHECK(i == 0 || footprint[i - 1].link < footprint[i].link);
    }
}

class FootprintTable {
public:
    FootprintId add(std::span<const LinkShare> footprint, std::size_t num_links) {
        check_footprint(footprint, num_links);
        shares_.insert(shares_.end(), footprint.begin(), footprint.end());
        begin_.push_back(shares_.size());
        return to_id<FootprintId>(begin_.size() - 2);
    }
    std::span<const LinkShare> operator[](FootprintId id) const {
        const std::size_t first = begin_[index(id)];
        return {shares_.data() + first, begin_[index(id) + 1] - first};
    }
    std::size_t size() const { return begin_.size() - 1; }

private:
    std::vector<std::size_t> begin_{0};
    std::vector<LinkShare> shares_;
};

}  // namespace orrery
