// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/engine_fabric.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/serve/serving_prices.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace engine_fabric_test {

Scenario h100_server() {
    ReadOptions options;
    options.network_only = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    return read_scenario_text("cluster: {nodes: 1, node: dgx-h100}\n", "test", ".", options)
        .value();
}

TEST(EngineFabric, HasNvlsUnlessTheEngineTurnsItOff) {
    ClusterSpec cluster = h100_server().cluster;
    EXPECT_TRUE(engine_fabric(cluster, {})->spec().node.nvls);
    EXPECT_FALSE(engine_fabric(cluster, {.nvls = false})->spec().node.nvls);
    cluster.node.nvls = false;
    EXPECT_FALSE(engine_fabric(cluster, {})->spec().node.nvls);
}

// Sums of 134 MB are NCCL's, and take longer without the switches' help. Small sums are the
// engine's own.
TEST(EngineFabric, WithoutNvlsLargeSumsTakeLonger) {
    const auto time = [](bool nvls, const BatchShape& shape) {
        const ServingPlan plan{.tensor_model_parallel_size = 8};
        return ServingPrices::make(
                   h100_server(), llama(80, 8192, 28672, 8, 128256), plan, {.nvls = nvls})
            .value()
            ->stage_time(shape, 0);
    };
    const BatchShape prompts{.tokens = 8192, .sampled = 1, .chunks = {{.new_tokens = 8192}}};
    EXPECT_GT(time(false, prompts), time(true, prompts));
    const BatchShape generating{
        .tokens = 4, .sampled = 4, .generating = 4, .generating_context = 4000};
    EXPECT_EQ(time(false, generating), time(true, generating));
}

}  // namespace engine_fabric_test
}  // namespace orrery
