// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/double_tree.h"

#include <algorithm>

namespace orrery {

TreeParents first_tree(std::uint32_t num_nodes) {
    TreeParents parent(num_nodes, 0);
    for (std::uint32_t k = 1; k < num_nodes; ++k) {
        const std::uint32_t lowest_bit = k & (~k + 1);
        const std::uint32_t up = (k ^ lowest_bit) | (lowest_bit << 1);
        parent[k] = up < num_nodes ? up : k ^ lowest_bit;
    }
    return parent;
}

TreeParents second_tree(std::uint32_t num_nodes) {
    const TreeParents first = first_tree(num_nodes);
    TreeParents parent(num_nodes, 0);
    for (std::uint32_t k = 0; k < num_nodes; ++k) {
        if (num_nodes % 2 == 0) {
            parent[k] = num_nodes - 1 - first[num_nodes - 1 - k];
        } else {
            const std::uint32_t shifted = (k + num_nodes - 1) % num_nodes;
            parent[k] = (first[shifted] + 1) % num_nodes;
        }
    }
    return parent;
}

std::uint32_t depth(const TreeParents& tree) {
    std::uint32_t deepest = 0;
    for (std::uint32_t k = 0; k < tree.size(); ++k) {
        std::uint32_t levels = 0;
        for (std::uint32_t at = k; tree[at] != at; at = tree[at]) {
            ++levels;
        }
        deepest = std::max(deepest, levels);
    }
    return deepest;
}

}  // namespace orrery
