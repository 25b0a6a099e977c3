// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/direct_all_reduce.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace {

const NodeSpec kHopper{.nvlink_bandwidth = Bandwidth::bytes_per_second(450'000'000'000),
                       .nvlink_latency = Time::picoseconds(350'000)};

double us(const NodeSpec& node, std::int64_t ranks, std::int64_t bytes) {
    return direct_all_reduce_time(node, ranks, Bytes{bytes}, Time::seconds(2e-6))
               .value()
               .seconds() *
           1e6;
}

// AIConfigurator's tables of vLLM's kernel on H100 (captured).
TEST(DirectAllReduce, AgreesWithMeasuredTimes) {
    struct Row {
        std::int64_t ranks;
        std::int64_t bytes;
        double us;
    };
    for (const Row& row : {Row{2, 2048, 4.21},
                           Row{2, 1 << 20, 8.34},
                           Row{4, 64 << 10, 5.23},
                           Row{4, 2 << 20, 18.6},
                           Row{8, 2048, 4.65},
                           Row{8, 128 << 10, 7.86},
                           Row{8, 1 << 20, 14.97},
                           Row{8, 4 << 20, 30.8}}) {
        EXPECT_LT(std::abs(us(kHopper, row.ranks, row.bytes) / row.us - 1), 0.2)
            << row.ranks << " " << row.bytes;
    }
}

TEST(DirectAllReduce, ExistsForSmallSumsBesideEachOther) {
    const auto exists = [](const NodeSpec& node, std::int64_t ranks, std::int64_t bytes) {
        return direct_all_reduce_time(node, ranks, Bytes{bytes}, Time{}).has_value();
    };
    EXPECT_TRUE(exists(kHopper, 8, 8 << 20));
    EXPECT_FALSE(exists(kHopper, 8, (8 << 20) + 1));
    EXPECT_FALSE(exists(kHopper, 1, 1));
    NodeSpec node = kHopper;
    node.gpus_per_node = 72;
    EXPECT_FALSE(exists(node, 9, 1024));
    node.intra_node = IntraNodeKind::nvlink_mesh;
    EXPECT_TRUE(exists(node, 2, 1024));
    EXPECT_FALSE(exists(node, 4, 1024));
    node.intra_node = IntraNodeKind::pcie;
    EXPECT_FALSE(exists(node, 2, 1024));
}

}  // namespace
}  // namespace orrery
