// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_decoder_pass.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/serve/paged_decoder.h"
#include "tests/runtime/cuda/served_steps.h"
#include "tests/runtime/cuda/simulated_device.h"

namespace orrery {
namespace {

double relative_error(const std::vector<float>& actual, const std::vector<float>& expected) {
    EXPECT_EQ(actual.size(), expected.size());
    double square = 0;
    double norm = 0;
    for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
        const double a = static_cast<double>(actual[i]);
        const double e = static_cast<double>(expected[i]);
        square += (a - e) * (a - e);
        norm += e * e;
    }
    return std::sqrt(square / norm);
}

TEST(CudaDecoderPass, GivesTheLogitsOfTheCpu) {
    for (const Transformer& model : models()) {
        simulated::begin_device(4);
        const ServedModel served = served_model(model);
        PagedDecoder cpu{served, kCache};
        const auto fp32 = decoder_of(served, fp32_options());
        CudaDecoderOptions narrow = fp32_options();
        narrow.dtype = Dtype::bf16;
        const auto bf16 = decoder_of(served, narrow);
        for (const Step& step : steps()) {
            const std::vector<float> expected = logits_of(cpu, step);
            EXPECT_LT(relative_error(logits_of(*fp32, step), expected), 1e-5);
            EXPECT_LT(relative_error(logits_of(*bf16, step), expected), 0.03);
        }
    }
}

}  // namespace
}  // namespace orrery
