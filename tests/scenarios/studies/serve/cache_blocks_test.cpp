// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/cache_blocks.h"

#include <gtest/gtest.h>

#include "tests/scenarios/served_model.h"

namespace orrery {
namespace {

// Keys and values of a block take 16 x 131,072 bytes over four GPUs.
TEST(CacheBlocks, FewerBitsOfAWeightLeaveMoreRoom) {
    const Scenario scenario = served_model();
    ServingSpec spec;
    ServingPoolSpec& pool = spec.pools.front();
    pool.plan.tensor_model_parallel_size = 4;
    const std::int64_t whole = cache_blocks(spec, pool, scenario.model, scenario.device).value();
    pool.plan.weight_bits = 4;
    const std::int64_t packed = cache_blocks(spec, pool, scenario.model, scenario.device).value();
    const double saved = 6.98e9 * 12 / 8 / 4;  // of the layers' parameters, on a GPU
    EXPECT_NEAR(static_cast<double>(packed - whole), saved / (16 * 131'072 / 4), 5);
    EXPECT_EQ(draft_plan({.pipeline_model_parallel_size = 4}).pipeline_model_parallel_size, 1);
}

}  // namespace
}  // namespace orrery
