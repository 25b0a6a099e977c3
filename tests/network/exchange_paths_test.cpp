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
    EXPECT_EQ(paths.num_links(), 3u);
    std::vector<LinkId> ordered;
    for (const std::uint32_t number : paths.in_order()) {
        ordered.push_back(paths.link(number));
    }
    EXPECT_EQ(ordered, (std::vector<LinkId>{LinkId{5}, LinkId{40}, LinkId{70}}));
}

// Paths from one sender share their first half, paths to one receiver their second half.
TEST(ExchangePaths, TheBytesOfHalvesAddUpOnTheirLinks) {
    ExchangePaths paths(3);
    const auto along = [&](std::uint32_t from, std::uint32_t to, std::vector<LinkId> path) {
        return paths.between(from, to, [path](bool&) -> std::span<const LinkId> { return path; });
    };
    const ExchangePaths::Pair first = along(0, 1, {LinkId{1}, LinkId{2}, LinkId{8}, LinkId{9}});
    const ExchangePaths::Pair second = along(2, 1, {LinkId{3}, LinkId{2}, LinkId{8}, LinkId{9}});
    const ExchangePaths::Pair direct = along(0, 2, {LinkId{7}});
    EXPECT_EQ(first.in, second.in);
    EXPECT_NE(first.out, second.out);
    std::vector<double> halves(paths.num_halves(), 0);
    for (const auto& [pair, bytes] : {std::pair{first, 10.0}, {second, 5.0}, {direct, 2.0}}) {
        halves[pair.out] += bytes;
        halves[pair.in] += bytes;
    }
    const std::vector<double> bytes = paths.bytes_of_links(halves);
    std::vector<std::pair<std::uint64_t, double>> by_link;
    for (const std::uint32_t number : paths.in_order()) {
        by_link.emplace_back(index(paths.link(number)), bytes[number]);
    }
    EXPECT_EQ(by_link,
              (std::vector<std::pair<std::uint64_t, double>>{
                  {1, 10}, {2, 15}, {3, 5}, {7, 2}, {8, 15}, {9, 15}}));
}

}  // namespace
}  // namespace orrery
