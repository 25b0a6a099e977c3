// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/serving_control.h"

#include <gtest/gtest.h>

#include "tests/models/known_models.h"

namespace orrery {
namespace {

const DeviceSpec kHopper{.generation = "hopper",
                         .peak_fp16 = FlopRate::per_second(989e12),
                         .peak_fp8 = FlopRate::per_second(1979e12),
                         .memory_bandwidth = Bandwidth::bytes_per_second(3'350'000'000'000),
                         .memory = Bytes{80'000'000'000}};

ServingCase one_request() {
    ServingCase row;
    row.weight_precision = "fp16";
    row.key_value_precision = "fp16";
    row.load = "single";
    row.input_tokens = 1;
    row.output_tokens = 1;
    return row;
}

// A single token reads all weights: 2 x 8.03e9 bytes at three quarters of the bandwidth.
TEST(ServingControl, ATokenReadsTheWeights) {
    const ServedFigures figures =
        closed_form(one_request(), llama(32, 4096, 14336, 8, 128256), kHopper, true);
    const double weights = 2 * 8.030e9 / (0.75 * 3.35e12);
    EXPECT_NEAR(figures.tpot_s, weights + 0.3e-3 + 32 * 8e-6, 1e-5);
    EXPECT_DOUBLE_EQ(figures.e2e_s, figures.ttft_s);
}

TEST(ServingControl, ABatchThatDoesNotFitRunsInWaves) {
    ServingCase row = one_request();
    row.load = "static";
    row.input_tokens = 2048;
    row.output_tokens = 2048;
    const Transformer model = llama(32, 4096, 14336, 8, 128256);
    const auto rate = [&](std::int64_t batch) {
        row.concurrency = batch;
        return closed_form(row, model, kHopper, true).output_tokens_per_s;
    };
    EXPECT_GT(rate(64), 10 * rate(1));
    // 107 sequences fit.
    EXPECT_LT(rate(120), 0.75 * rate(100));
}

TEST(ServingControl, AnOpenLoadYieldsWhatArrives) {
    ServingCase row = one_request();
    row.load = "poisson";
    row.request_rate = 2;
    row.input_tokens = 500;
    row.output_tokens = 100;
    const ServedFigures figures =
        closed_form(row, llama(32, 4096, 14336, 8, 128256), kHopper, true);
    EXPECT_NEAR(figures.output_tokens_per_s, 200, 1e-6);
}

}  // namespace
}  // namespace orrery
