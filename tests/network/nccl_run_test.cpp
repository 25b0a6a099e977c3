// SPDX-License-Identifier: Apache-2.0
#include "network/nccl_run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "network/nccl/nccl_graph.h"
#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

using namespace literals;

NcclTuning tuning_of_a100(std::uint32_t nodes) {
    const NcclGroupShape shape{
        .num_nodes = nodes, .num_ranks = 8 * nodes, .gpus_per_node = 8, .nics_per_node = 8};
    return NcclTuning{search_nccl_graphs(dgx_a100(), with_nics(200_Gbps), 80, shape)};
}

NcclRun run_of(const NcclTuning& tuning, Mover mover, Bytes bytes = 1_GiB) {
    const CollectiveCall call{.kind = CollectiveKind::all_gather, .bytes = bytes, .mover = mover};
    const NcclChoice chosen =
        tuning.choose(nccl_function(call.kind), call.bytes.count(), call.wire);
    return nccl_run(call, chosen, tuning, dgx_a100());
}

TEST(NcclRun, ALimitTakesTheShareOfTheChannelsThatItTakes) {
    const NcclTuning tuning = tuning_of_a100(1);
    const NcclRun all = run_of(tuning, {});
    ASSERT_EQ(all.choice.channels, 24u);
    // NCCL's 240 GB/s of NVLink past an edge that 7/8 of the vector pass.
    EXPECT_NEAR(all.bandwidth, 240 * 8 / 7.0, 0.1);
    for (const std::uint32_t limit : {1u, 6u, 16u, 24u, 40u}) {
        const NcclRun run = run_of(tuning, {.sm_limit = static_cast<std::uint16_t>(limit)});
        const std::uint32_t left = std::min(limit, 24u);
        EXPECT_EQ(run.choice.channels, left);
        EXPECT_EQ(run.choice.algorithm, all.choice.algorithm);
        EXPECT_EQ(run.choice.protocol, all.choice.protocol);
        EXPECT_EQ(run.choice.latency_us, all.choice.latency_us);
        EXPECT_NEAR(run.bandwidth, all.bandwidth * left / 24, 1e-6) << limit;
    }
}

// Two channels of an A100 carry 20 GB/s over NVLink, less than the 8 NICs of a node take.
TEST(NcclRun, NicsAreHeldBackByAFewChannelsOnly) {
    const NcclTuning tuning = tuning_of_a100(2);
    const NcclRun all = run_of(tuning, {});
    const std::uint32_t channels = all.choice.channels;
    const auto most = static_cast<std::uint16_t>(channels - 1);
    EXPECT_DOUBLE_EQ(run_of(tuning, {.sm_limit = most}).bandwidth, all.bandwidth);
    EXPECT_NEAR(run_of(tuning, {.sm_limit = 1}).bandwidth, 240.0 / channels * 16 / 15, 0.1);
}

TEST(NcclRun, CopyEnginesGoRoundARingInStepsOfTheSimpleProtocol) {
    const Mover copies{.engine = TransferEngine::copy_engine};
    const NcclTuning tuning = tuning_of_a100(1);
    for (const Bytes bytes : {1_KiB, 1_GiB}) {
        const NcclRun run = run_of(tuning, copies, bytes);
        EXPECT_EQ(run.engine, TransferEngine::copy_engine);
        EXPECT_NEAR(run.bandwidth, 240 * 8 / 7.0, 0.1);
        EXPECT_NEAR(run.choice.latency_us,
                    nccl_base_latency_us(NcclProtocol::simple) +
                        7 * nccl_step_latency_us(NcclProtocol::simple, false, true),
                    1e-6);
    }
    EXPECT_EQ(run_of(tuning_of_a100(2), copies).engine, TransferEngine::sm);
}

}  // namespace
}  // namespace orrery
