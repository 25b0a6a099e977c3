// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/pipeline_fill.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

TEST(PipelineFill, RingWaitsForItsLastChunk) {
    const NcclChoice ring{.algorithm = NcclAlgorithm::ring, .channels = 24};
    // Large: 2 MiB a channel over an edge of 360 / 24 GB/s.
    const PipelinedCall large{.bytes = 8192 * kMiB, .num_ranks = 8, .passes = 2};
    const double bandwidth = 360.0 * 8 / 14;
    EXPECT_NEAR(pipeline_fill_us(ring, large, bandwidth), 2 * kMiB / 15e3, 1e-9);
    // Small: a channel's chunk is 1/192 of the bytes.
    const PipelinedCall small{.bytes = 192 * kKiB, .num_ranks = 8, .passes = 2};
    EXPECT_NEAR(pipeline_fill_us(ring, small, bandwidth), kKiB / 15e3, 1e-9);
}

// 100 Gb/s a channel.
TEST(PipelineFill, ABroadcastWaitsForAChunkBetweenNodes) {
    NcclChoice ring{
        .algorithm = NcclAlgorithm::ring, .protocol = NcclProtocol::ll128, .channels = 4};
    PipelinedCall call{.bytes = 64 * kMiB, .num_nodes = 16, .num_ranks = 128, .chain = true};
    EXPECT_NEAR(pipeline_fill_us(ring, call, 50.0), 15 * 576'000 / 12.5e3, 1e-9);
    ring.protocol = NcclProtocol::simple;
    EXPECT_NEAR(pipeline_fill_us(ring, call, 50.0), 15 * 512 * kKiB / 12.5e3, 1e-9);
    call.bytes = 4 * kKiB;  // a channel has 1 KiB
    EXPECT_NEAR(pipeline_fill_us(ring, call, 50.0), 15 * kKiB / 12.5e3, 1e-9);
    call.num_nodes = 1;
    EXPECT_EQ(pipeline_fill_us(ring, call, 50.0), 0.0);
}

TEST(PipelineFill, NvlsTakesSmallerChunksForSmallerCalls) {
    const NcclChoice nvls{.algorithm = NcclAlgorithm::nvls, .channels = 16};
    const auto chunk = [&](std::int64_t bytes) {
        return nccl_bytes_in_flight(nvls, {.bytes = bytes, .num_ranks = 8, .heads = 8}) / 128;
    };
    EXPECT_EQ(chunk(2048 * kMiB), 128 * kKiB);
    EXPECT_EQ(chunk(1023 * kMiB), 64 * kKiB);
    EXPECT_EQ(chunk(63 * kMiB), 32 * kKiB);
    EXPECT_EQ(chunk(7 * kMiB), 16 * kKiB);
    EXPECT_EQ(chunk(1 * kMiB), 8 * kKiB);  // there is no more
}

TEST(PipelineFill, NvlsTreeFillsEveryLevel) {
    const NcclChoice tree{.algorithm = NcclAlgorithm::nvls_tree, .channels = 16};
    PipelinedCall call{.bytes = 4096 * kMiB, .num_nodes = 4, .num_ranks = 32, .heads = 8};
    const double four = pipeline_fill_us(tree, call, 200.0);
    EXPECT_NEAR(four, 2 * 2 * 8 * kMiB / 200e3, 1e-9);  // 128 chunks of 64 KiB
    call.num_nodes = 64;
    EXPECT_NEAR(pipeline_fill_us(tree, call, 200.0), 3 * four, 1e-9);
    call.num_nodes = 2;  // 512 KiB chunks
    EXPECT_NEAR(pipeline_fill_us(tree, call, 200.0), 2 * 64 * kMiB / 200e3, 1e-9);
    call.num_nodes = 4;  // as aws-ofi-nccl sets them, for any number of nodes
    call.nvls_tree_chunk = 512 * 1024;
    EXPECT_NEAR(pipeline_fill_us(tree, call, 200.0), 8 * four, 1e-9);
}

TEST(PipelineFill, IsPartOfNcclsEstimateOfTreesAndPat) {
    for (const auto algorithm : {NcclAlgorithm::tree, NcclAlgorithm::pat}) {
        const NcclChoice choice{.algorithm = algorithm, .channels = 4};
        EXPECT_EQ(pipeline_fill_us(choice, {.bytes = kMiB, .num_ranks = 8}, 10.0), 0.0);
    }
}

}  // namespace
}  // namespace orrery
