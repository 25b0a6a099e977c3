// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/serve/paged_decoder.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

ServedModel adapted(Transformer model) {
    model.seq_length = 40;
    ServedModel served = *load_served_model(model, {}, 3);
    draw_adapters(served, 3, 2, 9);
    for (auto& [name, values] : served.weights) {  // large enough to be seen in the logits
        for (std::size_t i = 0; name.find("adapter") != std::string::npos && i < values.size();
             ++i) {
            values[i] *= 10;
        }
    }
    return served;
}

// The adapter's product added to the weights.
ServedModel merged(const ServedModel& served, std::int64_t adapter) {
    ServedModel result = served;
    for (std::int64_t layer = 0; layer < served.model.num_layers; ++layer) {
        for (const AdaptedProjection& p : adapted_projections(served.model, layer)) {
            const auto& a = served.weights.at(p.name + ".adapter_a");
            const auto& b = served.weights.at(p.name + ".adapter_b");
            std::vector<float>& weight = result.weights.at(p.name);
            const std::int64_t n = p.all_outputs();
            for (std::int64_t i = 0; i < p.inputs * n; ++i) {
                for (std::int64_t r = 0; r < served.adapter_rank; ++r) {
                    const std::int64_t place = adapter * served.adapter_rank + r;
                    weight[static_cast<std::size_t>(i)] +=
                        a[static_cast<std::size_t>(place * p.inputs + i / n)] *
                        b[static_cast<std::size_t>(place * n + i % n)];
                }
            }
        }
    }
    return result;
}

std::vector<float> logits_of(const ServedModel& served, const std::vector<DecodeChunk>& chunks) {
    PagedDecoder decoder{served, {.num_blocks = 12, .block_size = 4}};
    std::vector<float> logits;
    EXPECT_TRUE(decoder.run(chunks, logits));
    return logits;
}

double distance(const std::vector<float>& a, std::span<const float> b) {
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        most = std::max(most, std::abs(static_cast<double>(a[i] - b[i])));
    }
    return most;
}

// Requests for two adapters and for the model alone in one step.
TEST(PagedDecoderPass, ARequestSeesItsAdapterAsIfItWereInTheWeights) {
    Transformer parallel = tiny_gpt();
    parallel.parallel_block = true;
    for (const Transformer& model : {tiny_gpt(), tiny_llama(), parallel}) {
        const ServedModel served = adapted(model);
        const auto chunk = [](std::int32_t adapter, KvBlock block) {
            return DecodeChunk{
                .tokens = {4, 9, 1}, .blocks = {block}, .samples = true, .adapter = adapter};
        };
        const std::vector<float> all = logits_of(served, {chunk(2, 1), chunk(-1, 5), chunk(0, 3)});
        ASSERT_EQ(all.size(), 96U);
        const std::span<const float> rows{all};
        const std::vector<float> plain = logits_of(served, {chunk(-1, 5)});
        EXPECT_EQ(distance(plain, rows.subspan(32, 32)), 0);
        for (const auto& [adapter, row] : {std::pair{2, 0}, std::pair{0, 64}}) {
            const std::vector<float> expected = logits_of(merged(served, adapter), {chunk(-1, 1)});
            const auto found = rows.subspan(static_cast<std::size_t>(row), 32);
            EXPECT_LT(distance(expected, found), 2e-6);
            EXPECT_GT(distance(plain, found), 1e-4);
        }
    }
}

}  // namespace
}  // namespace orrery
