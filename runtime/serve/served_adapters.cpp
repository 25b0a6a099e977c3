// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/served_adapters.h"

#include <fmt/format.h>

#include <numeric>
#include <random>

namespace orrery {
namespace {

constexpr float kDeviation = 0.02f;

// The sum of twelve uniform numbers is nearly normal, and the same on every standard library.
std::vector<float> drawn(std::int64_t size, std::mt19937_64& random) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) {
        float sum = -6.0f;
        for (int i = 0; i < 12; ++i) {
            sum += static_cast<float>(random() >> 40) * 0x1p-24f;
        }
        value = kDeviation * sum;
    }
    return values;
}

}  // namespace

std::int64_t AdaptedProjection::all_outputs() const {
    return std::accumulate(outputs.begin(), outputs.end(), std::int64_t{0});
}

std::vector<AdaptedProjection> adapted_projections(const Transformer& m, std::int64_t layer) {
    const auto name = [&](const char* projection) {
        return fmt::format("layers.{}.{}.weight", layer, projection);
    };
    const std::int64_t h = m.hidden_size;
    const std::int64_t f = m.ffn_hidden_size;
    std::vector<AdaptedProjection> all{
        {AdaptedProduct::qkv,
         name("self_attention.linear_qkv"),
         h,
         {m.query_size(), m.kv_size(), m.kv_size()}},
        {AdaptedProduct::projection, name("self_attention.linear_proj"), m.context_size(), {h}}};
    if (!m.layer_has_experts(layer)) {
        all.push_back({AdaptedProduct::fc1,
                       name("mlp.linear_fc1"),
                       h,
                       m.gated_mlp() ? std::vector{f, f} : std::vector<std::int64_t>{f}});
        all.push_back({AdaptedProduct::fc2, name("mlp.linear_fc2"), f, {h}});
    }
    return all;
}

void draw_adapters(ServedModel& served,
                   std::int64_t adapters,
                   std::int64_t rank,
                   std::uint64_t seed) {
    served.adapters = adapters;
    served.adapter_rank = rank;
    std::mt19937_64 random{seed};
    for (std::int64_t layer = 0; layer < served.model.num_layers; ++layer) {
        for (const AdaptedProjection& p : adapted_projections(served.model, layer)) {
            served.weights[p.name + ".adapter_a"] = drawn(adapters * rank * p.inputs, random);
            served.weights[p.name + ".adapter_b"] =
                drawn(adapters * rank * p.all_outputs(), random);
        }
    }
}

}  // namespace orrery
