// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/footprint.h"

#include <gtest/gtest.h>

#include "tests/network/collectives/part_checks.h"

namespace orrery {
namespace {

LinkShare share(std::size_t link, std::uint32_t count) {
    return {to_id<LinkId>(link), count};
}

TEST(Footprint, CountsALinkThatIsCrossedTwice) {
    FootprintBuilder builder;
    builder.add(to_id<LinkId>(7), 1);
    builder.add(Path{.links = {to_id<LinkId>(3), to_id<LinkId>(7)}, .latency = {}}, 2);
    EXPECT_EQ(builder.take(), (std::vector<LinkShare>{share(3, 2), share(7, 3)}));
    EXPECT_TRUE(builder.take().empty());
}

TEST(Footprint, EqualChannelsBecomeOnePart) {
    const PartShape a{.footprint = {share(1, 1), share(2, 2)}, .divisor = 4, .multiplicity = 2};
    PartShape twin = a;
    twin.multiplicity = 1;
    const PartShape other{.footprint = {share(1, 1), share(3, 2)}, .divisor = 4, .multiplicity = 1};
    const PartShape skewed{
        .footprint = {share(1, 2), share(2, 2)}, .divisor = 4, .multiplicity = 1};
    const auto merged = merged_channels({a, other, twin, skewed});
    ASSERT_EQ(merged.size(), 3u);
    EXPECT_EQ(merged[0].multiplicity, 3u);
    EXPECT_EQ(merged[0].footprint, (std::vector<LinkShare>{share(1, 3), share(2, 6)}));
    // 100 bytes in quarters: 25 a channel, over 6 + 2 + 0 crossings of link 2.
    EXPECT_EQ(bytes_on_link(merged, to_id<LinkId>(2), 100), 25 * (6 + 2));
}

}  // namespace
}  // namespace orrery
