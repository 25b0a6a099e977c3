// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/double_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace orrery {
namespace {

std::vector<std::uint32_t> roots(const TreeParents& tree) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t k = 0; k < tree.size(); ++k) {
        if (tree[k] == k) {
            found.push_back(k);
        }
    }
    return found;
}

TEST(DoubleTree, SmallTreesByHand) {
    EXPECT_EQ(first_tree(4), (TreeParents{0, 2, 0, 2}));
    EXPECT_EQ(second_tree(4), (TreeParents{1, 3, 1, 3}));
    EXPECT_EQ(first_tree(5), (TreeParents{0, 2, 4, 2, 0}));
    EXPECT_EQ(second_tree(5), (TreeParents{1, 1, 3, 0, 3}));
}

TEST(DoubleTree, EveryNodeHasOneRootAndAtMostFourNeighbours) {
    for (std::uint32_t n = 1; n <= 200; ++n) {
        std::vector<int> degree(n, 0);
        for (const auto& tree : {first_tree(n), second_tree(n)}) {
            EXPECT_EQ(roots(tree).size(), 1u) << n;
            EXPECT_LE(depth(tree), 12u);  // also: no cycle
            for (std::uint32_t k = 0; k < n; ++k) {
                ASSERT_LT(tree[k], n);
                if (tree[k] != k) {
                    ++degree[k];
                    ++degree[tree[k]];
                }
            }
        }
        EXPECT_LE(*std::max_element(degree.begin(), degree.end()), 4) << n;
        if (n > 1) {
            EXPECT_EQ(roots(second_tree(n))[0], n % 2 == 0 ? n - 1 : 1u) << n;
        }
    }
}

struct Golden {
    std::uint32_t nodes, per_leaf, depth, ring_leaving, tree_leaving, most_at_one;
};

TEST(DoubleTree, EdgesThatLeaveTheirLeafGroup) {
    const std::vector<Golden> table{{64, 32, 6, 2, 2, 4},
                                    {128, 32, 7, 4, 5, 6},
                                    {128, 64, 7, 2, 2, 4},
                                    {256, 32, 8, 8, 11, 6},
                                    {256, 64, 8, 4, 5, 6},
                                    {512, 32, 9, 16, 23, 6},
                                    {512, 64, 9, 8, 11, 6},
                                    {1024, 32, 10, 32, 47, 6},
                                    {1024, 64, 10, 16, 23, 6},
                                    {1536, 32, 11, 48, 71, 6},
                                    {1536, 64, 11, 24, 35, 6}};
    for (const auto& g : table) {
        std::vector<std::uint32_t> at_group(g.nodes / g.per_leaf, 0);
        for (const auto& tree : {first_tree(g.nodes), second_tree(g.nodes)}) {
            EXPECT_EQ(depth(tree), g.depth) << g.nodes;
            std::uint32_t leaving = 0;
            for (std::uint32_t k = 0; k < g.nodes; ++k) {
                const auto a = k / g.per_leaf;
                const auto b = tree[k] / g.per_leaf;
                if (a != b) {
                    ++leaving;
                    ++at_group[a];
                    ++at_group[b];
                }
            }
            EXPECT_EQ(leaving, g.tree_leaving) << g.nodes << " by " << g.per_leaf;
        }
        EXPECT_EQ(*std::max_element(at_group.begin(), at_group.end()), g.most_at_one) << g.nodes;
        std::uint32_t ring = 0;
        for (std::uint32_t k = 0; k < g.nodes; ++k) {
            ring += k / g.per_leaf != (k + 1) % g.nodes / g.per_leaf ? 1 : 0;
        }
        EXPECT_EQ(ring, g.ring_leaving) << g.nodes;
    }
}

}  // namespace
}  // namespace orrery
