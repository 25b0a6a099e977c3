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

// AIConfigurator's tables of B200: vLLM 0.19 and SGLang 0.5.10, and TensorRT-LLM 1.3, whose kernels
// have no barriers.
TEST(DirectAllReduce, BarriersTakeLongerOnBlackwell) {
    const NodeSpec blackwell{.nvlink_bandwidth = Bandwidth::bytes_per_second(900'000'000'000),
                             .nvlink_latency = Time::picoseconds(350'000)};
    struct Row {
        std::int64_t ranks;
        std::int64_t bytes;
        double barriers_us;
        double in_data_us;
    };
    for (const Row& row : {Row{4, 64 << 10, 7.9, 5.4},
                           Row{8, 4096, 7.6, 5.8},
                           Row{8, 128 << 10, 9.4, 6.2},
                           Row{8, 256 << 10, 25.7, 7.6},
                           Row{8, 1 << 20, 27.3, 17.5},
                           Row{8, 8 << 20, 80.4, 54.6}}) {
        const auto time = [&](PeerFlags flags) {
            return direct_all_reduce_time(
                       blackwell, row.ranks, Bytes{row.bytes}, Time::seconds(2e-6), flags)
                       .value()
                       .seconds() *
                   1e6;
        };
        EXPECT_LT(std::abs(time(PeerFlags::barriers) / row.barriers_us - 1), 0.25)
            << row.ranks << " " << row.bytes;
        EXPECT_LT(std::abs(time(PeerFlags::in_data) / row.in_data_us - 1), 0.35)
            << row.ranks << " " << row.bytes;
    }
}

// vLLM's kernel on 8 MI355X, whose 7 links have 76.8 GB/s each (vLLM pull request 39080).
TEST(DirectAllReduce, ReadsOverTheLinksOfAMesh) {
    const NodeSpec mesh{.intra_node = IntraNodeKind::nvlink_mesh,
                        .nvlink_bandwidth = Bandwidth::bytes_per_second(537'600'000'000),
                        .nvlink_latency = Time::picoseconds(350'000)};
    struct Row {
        std::int64_t bytes;
        double us;
    };
    for (const Row& row : {Row{24 << 10, 6.3},
                           Row{48 << 10, 6.7},
                           Row{96 << 10, 7.6},
                           Row{192 << 10, 10.0},
                           Row{384 << 10, 13.1},
                           Row{768 << 10, 16.0},
                           Row{1536 << 10, 24.2}}) {
        EXPECT_LT(std::abs(us(mesh, 8, row.bytes) / row.us - 1), 0.15) << row.bytes;
    }
    // Four GPUs of eight use three of the seven links.
    EXPECT_GT(us(mesh, 4, 4 << 20), 1.4 * us(mesh, 8, 4 << 20));
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
    EXPECT_TRUE(exists(node, 8, 1024));
    node.intra_node = IntraNodeKind::pcie;
    EXPECT_FALSE(exists(node, 2, 1024));
}

}  // namespace
}  // namespace orrery
