// SPDX-License-Identifier: Apache-2.0
#include "network/exchange_paths.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ExchangePaths, APathIsFoundOnceAndItsLinksGetNumbers) {
    ExchangePaths paths(3);
    int asked = 0;
    const std::vector<LinkId> there{LinkId{70}, LinkId{5}};
    const std::vector<LinkId> back{LinkId{5}, LinkId{40}};
    const auto find = [&](const std::vector<LinkId>& path, bool in_node) {
        return [&asked, &path, in_node](bool& inside) -> std::span<const LinkId> {
            ++asked;
            inside = in_node;
            return path;
        };
    };
    EXPECT_TRUE(paths.between(0, 1, find(there, true)).inside);
    EXPECT_FALSE(paths.between(1, 0, find(back, false)).inside);
    const ExchangePaths::Pair again = paths.between(0, 1, find(back, false));
    EXPECT_EQ(asked, 2);
    EXPECT_TRUE(again.inside);
    ASSERT_EQ(again.links.size(), 2u);
    EXPECT_EQ(paths.link(again.links[0]), LinkId{70});
    EXPECT_EQ(paths.num_links(), 3u);
    std::vector<LinkId> ordered;
    for (const std::uint32_t number : paths.in_order()) {
        ordered.push_back(paths.link(number));
    }
    EXPECT_EQ(ordered, (std::vector<LinkId>{LinkId{5}, LinkId{40}, LinkId{70}}));
}

}  // namespace
}  // namespace orrery
