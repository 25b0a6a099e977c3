// SPDX-License-Identifier: Apache-2.0
// NCCL's double binary tree over nodes 0 … N-1 (Sanders, Speck, Träff, "Two-tree algorithms",
// 2009): each node is a leaf of one tree and has children in the other, or nearly so.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery {

// By node: its parent. A root is its own parent.
using TreeParents = std::vector<std::uint32_t>;

TreeParents first_tree(std::uint32_t num_nodes);
TreeParents second_tree(std::uint32_t num_nodes);  // mirrored (even N) or shifted by one (odd N)

// The number of edges from the root to the farthest node.
std::uint32_t depth(const TreeParents& tree);

}  // namespace orrery
