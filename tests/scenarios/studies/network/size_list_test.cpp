// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/size_list.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(SizeList, ReadsSizesAsListsAndRanges) {
    using List = std::vector<Bytes>;
    EXPECT_EQ(parse_sizes("1MiB"), List{Bytes(1 << 20)});
    EXPECT_EQ(parse_sizes("1KiB..5KiB"), (List{Bytes(1024), Bytes(2048), Bytes(4096)}));
    EXPECT_EQ(parse_sizes("3 B, 1 KB..2 KB"), (List{Bytes(3), Bytes(1000), Bytes(2000)}));
    EXPECT_EQ(parse_sizes("1MiB..8GiB")->size(), 14U);
    for (const char* wrong :
         {"", "8", "1MiB..", "2MiB..1MiB", "0 B", "1 B..1 TiB,1 B..1 TiB", "x"}) {
        const auto sizes = parse_sizes(wrong);
        ASSERT_FALSE(sizes) << wrong;
        EXPECT_EQ(sizes.error().where, "--size");
    }
}

}  // namespace
}  // namespace orrery
