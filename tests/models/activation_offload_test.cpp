// SPDX-License-Identifier: Apache-2.0
#include "models/activation_offload.h"

#include <gtest/gtest.h>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

constexpr std::int64_t kInput = 4096 * 256 * 2;  // bytes of a layer's

ParallelPlan offloading(double fraction) {
    return {.recompute_granularity = Recompute::full, .activation_offload_fraction = fraction};
}

TEST(ActivationOffload, TakesEqualPartsOfTheLayers) {
    for (const double fraction : {0.0, 0.25, 0.5, 1.0}) {
        std::int64_t count = 0;
        for (std::int64_t layer = 0; layer < 32; ++layer) {
            count += input_is_offloaded(offloading(fraction), layer) ? 1 : 0;
        }
        EXPECT_EQ(count, static_cast<std::int64_t>(32 * fraction));
    }
}

// L s h bytes of 16 bits move from the device to its host, and back once.
TEST(ActivationOffload, MovesTheKeptInputs) {
    const Transformer model = small_llama(8);
    const Program kept = verified(model, offloading(0));
    const Program moved = verified(model, offloading(1));
    EXPECT_EQ(host_bytes(kept, RoleId{0}), Bytes{});
    EXPECT_EQ(host_bytes(moved, RoleId{0}).count(), 8 * kInput);
    EXPECT_EQ(host_bytes(verified(model, offloading(0.5)), RoleId{0}).count(), 4 * kInput);
    EXPECT_EQ(ops_called(moved, "layer input to host").size(), 8U);
    EXPECT_EQ(ops_called(moved, "layer input from host").size(), 8U);
    EXPECT_EQ(activation_peak(kept) - activation_peak(moved), 7 * kInput);
}

// Inputs of micro-batches whose backward pass is still to come lie in host memory together.
TEST(ActivationOffload, CountsMicroBatchesInFlight) {
    const Transformer model = small_llama(4);
    ParallelPlan plan = offloading(1);
    plan.pipeline_model_parallel_size = 2;
    plan.global_batch_size = 8;
    const Program program = verified(model, plan);
    EXPECT_EQ(host_bytes(program, RoleId{0}).count(), 2 * 2 * kInput);
    EXPECT_EQ(host_bytes(program, RoleId{1}).count(), 1 * 2 * kInput);
}

}  // namespace
}  // namespace orrery
