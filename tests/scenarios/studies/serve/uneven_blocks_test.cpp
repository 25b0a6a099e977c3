// SPDX-License-Identifier: Apache-2.0
// uneven_blocks() in the price of a step.
#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/serve/serving_prices.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

// Of eight heads 1,728 queries are two blocks for each of an A100's SMs, 2,048 three for some.
TEST(UnevenBlocks, MakeChunksTakeLonger) {
    ReadOptions options;
    options.network_only = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    const auto server =
        read_scenario_text("cluster: {nodes: 1, node: dgx-a100-80g}\n", "test", ".", options);
    ASSERT_TRUE(server);
    const auto seconds = [&](std::int64_t tokens) {
        const ServingPlan plan{.tensor_model_parallel_size = 8,
                               .attention = AttentionGeneration::flash_2};
        const BatchShape chunk{
            .tokens = tokens, .sampled = 1, .chunks = {{.new_tokens = tokens, .context = 1 << 20}}};
        return ServingPrices::make(
                   *server, llama(80, 8192, 28672, 8, 128256), plan, {.scheduler = "sarathi"})
            .value()
            ->stage_time(chunk, 0)
            .seconds();
    };
    EXPECT_NEAR(seconds(2048) / seconds(1728), 1.5, 0.05);
}

}  // namespace
}  // namespace orrery
