// SPDX-License-Identifier: Apache-2.0
// What must hold for any collective on links.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "network/fabric/fabric.h"
#include "network/fabric/footprint.h"

namespace orrery {

// Ascending link ids, each once and loaded.
inline void expect_well_formed(const std::vector<PartShape>& parts) {
    ASSERT_FALSE(parts.empty());
    for (const auto& part : parts) {
        ASSERT_FALSE(part.footprint.empty());
        EXPECT_GT(part.divisor, 0);
        for (std::size_t i = 0; i < part.footprint.size(); ++i) {
            EXPECT_GT(part.footprint[i].count, 0u);
            if (i > 0) {
                EXPECT_LT(part.footprint[i - 1].link, part.footprint[i].link);
            }
        }
    }
}

// Everything that enters a GPU, a NIC or a switch leaves it again: true for closed rings, for trees
// (up and down) and for symmetric exchanges.
inline void expect_conserved(const Fabric& fabric, const std::vector<PartShape>& parts) {
    for (const auto& part : parts) {
        std::vector<std::int64_t> balance(fabric.num_vertices(), 0);
        for (const auto& share : part.footprint) {
            const auto& ends = fabric.link_ends()[index(share.link)];
            balance[ends.from] -= share.count;
            balance[ends.to] += share.count;
        }
        for (std::uint32_t v = 0; v < fabric.num_vertices(); ++v) {
            EXPECT_EQ(balance[v], 0) << fabric.vertex_name(v);
        }
    }
}

inline std::int64_t channels_of(const std::vector<PartShape>& parts) {
    std::int64_t sum = 0;
    for (const auto& part : parts) {
        sum += part.multiplicity;
    }
    return sum;
}

// Bytes that link `link` carries for a collective of `bytes`, rounded up.
inline std::int64_t bytes_on_link(const std::vector<PartShape>& parts,
                                  LinkId link,
                                  std::int64_t bytes) {
    std::int64_t sum = 0;
    for (const auto& part : parts) {
        for (const auto& share : part.footprint) {
            if (share.link == link) {
                sum += (bytes + part.divisor - 1) / part.divisor * share.count;
            }
        }
    }
    return sum;
}

}  // namespace orrery
