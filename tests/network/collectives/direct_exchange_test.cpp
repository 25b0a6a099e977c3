// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/direct_exchange.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace {

NodeSpec node_of(std::uint32_t gpus, std::int64_t gigabytes_per_second) {
    NodeSpec node;
    node.gpus_per_node = gpus;
    node.intra_node = IntraNodeKind::nvswitch;
    node.nvlink_bandwidth = Bandwidth::bytes_per_second(gigabytes_per_second * 1'000'000'000);
    return node;
}

// AIConfigurator's tables: rows of 7,168 columns to the ranks of 8 of 256 experts.
TEST(DirectExchange, AgreesWithMeasuredTimes) {
    struct Row {
        NodeSpec node;
        std::int64_t ranks;
        double copies;  // of a row
        std::int64_t tokens;
        std::int64_t bytes;  // of an element
        double us;
    };
    const NodeSpec gb200 = node_of(72, 900);
    for (const Row& row : {Row{gb200, 32, 7.2, 128, 2, 41},  // TensorRT-LLM's combine
                           Row{gb200, 32, 7.2, 1024, 2, 245},
                           Row{gb200, 32, 7.2, 1024, 1, 117},  // and dispatch
                           Row{gb200, 4, 8, 256, 2, 55},       // DeepEP's combine
                           Row{node_of(8, 450), 8, 8, 128, 2, 67},
                           Row{node_of(8, 450), 8, 8, 512, 1, 116}}) {
        const double bytes = static_cast<double>(row.tokens * 7168 * row.bytes) * row.copies;
        const auto time =
            direct_exchange_time(row.node, row.ranks, Bytes{static_cast<std::int64_t>(bytes)});
        EXPECT_LT(std::abs(time.value().seconds() * 1e6 / row.us - 1), 0.25)
            << row.ranks << " " << row.tokens;
    }
}

TEST(DirectExchange, ExistsWithinAnNvlinkDomain) {
    EXPECT_FALSE(direct_exchange_time(node_of(8, 450), 16, Bytes{1}));
    EXPECT_FALSE(direct_exchange_time(node_of(8, 450), 1, Bytes{1}));
    NodeSpec mesh = node_of(8, 450);
    mesh.intra_node = IntraNodeKind::nvlink_mesh;
    EXPECT_FALSE(direct_exchange_time(mesh, 8, Bytes{1}));
}

}  // namespace
}  // namespace orrery
