// SPDX-License-Identifier: Apache-2.0
// Steps of a server whose kernels are compiled at their first use.
#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/serve/compiled_products.h"
#include "scenarios/studies/serve/serving_prices.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

using namespace literals;

std::unique_ptr<ServingPrices> compiling_prices(bool block_scaled = true) {
    ReadOptions options;
    options.network_only = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    const Scenario server =
        read_scenario_text("cluster: {nodes: 1, node: dgx-h100}\n", "test", ".", options).value();
    const ServingPlan plan{.tensor_model_parallel_size = 8,
                           .precision = ProductPrecision::fp8,
                           .weight_bits = 8,
                           .block_scaled = block_scaled};
    const ServingEngine engine{.kernel_compile_time = 430_ms, .captures_generation = true};
    return ServingPrices::make(server, llama(80, 8192, 28672, 8, 128256), plan, engine).value();
}

Batch step_of(std::int64_t prompt, std::int64_t generating) {
    Batch batch;
    for (std::int64_t i = 0; i < generating; ++i) {
        batch.steps.push_back({.new_tokens = 1, .context = 1000, .samples = true});
    }
    if (prompt > 0) {
        batch.steps.push_back({.new_tokens = prompt, .context = 0, .samples = true});
    }
    return batch;
}

constexpr SchedulerLimits kLimits{.max_num_batched_tokens = 1152, .max_num_seqs = 64};

// A server that has had a prompt of 991 tokens has the tilings of all prompts with eight rows of
// tiles. Those with seven rows are compiled once.
TEST(ColdStart, CompilesAtTheFirstStepThatHasATiling) {
    const auto prices = compiling_prices();
    prices->start_cold(true);
    CompiledKernels compiled = prices->compiled_at_start(kLimits, 991);
    EXPECT_FALSE(compiled.empty());
    EXPECT_EQ(prices->compiling(step_of(991, 0), compiled), Time{});
    EXPECT_EQ(prices->compiling(step_of(1000, 20), compiled), Time{});
    EXPECT_EQ(prices->compiling(step_of(1152, 0), compiled), Time{});
    const std::size_t before = compiled.size();
    const Time first = prices->compiling(step_of(866, 0), compiled);
    EXPECT_GT(first, Time{});
    EXPECT_EQ(first, 430_ms * static_cast<std::int64_t>(compiled.size() - before));
    EXPECT_EQ(prices->compiling(step_of(866, 0), compiled), Time{});
    EXPECT_EQ(prices->compiling(step_of(880, 3), compiled), Time{});
    EXPECT_EQ(prices->compiling(step_of(0, 64), compiled), Time{});
}

TEST(ColdStart, CompilesNothingInAWarmServerOrWithoutScalesOfBlocks) {
    const auto warm = compiling_prices();
    CompiledKernels compiled = warm->compiled_at_start(kLimits, 991);
    EXPECT_TRUE(compiled.empty());
    EXPECT_EQ(warm->compiling(step_of(866, 0), compiled), Time{});
    const auto plain = compiling_prices(false);
    plain->start_cold(true);
    EXPECT_EQ(plain->compiling(step_of(866, 0), compiled), Time{});
}

}  // namespace
}  // namespace orrery
