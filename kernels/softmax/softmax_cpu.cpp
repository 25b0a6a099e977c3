// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax/softmax_cpu.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

struct Visible {
    std::int64_t first;
    std::int64_t count;
};

Visible visible_keys(const SoftmaxShape& shape, std::int64_t window, std::int64_t query) {
    if (!shape.causal) {
        return {0, shape.seq_kv};
    }
    const std::int64_t end = std::max<std::int64_t>(shape.seq_kv - shape.seq_q + query + 1, 0);
    const std::int64_t first = window > 0 ? std::max<std::int64_t>(end - window, 0) : 0;
    return {first, end - first};
}

}  // namespace

void softmax_forward(const SoftmaxShape& shape,
                     const SoftmaxArguments& arguments,
                     ConstTensorView scores,
                     TensorView probabilities) {
    std::vector<float> row(static_cast<std::size_t>(shape.seq_kv));
    const std::int64_t rows_per_query = shape.batch * shape.heads;
    for (std::int64_t i = 0; i < shape.seq_q * rows_per_query; ++i) {
        load_row(scores, i * shape.seq_kv, row);
        const Visible keys = visible_keys(shape, arguments.window, i / rows_per_query);
        const std::span<float> visible = std::span{row}.subspan(
            static_cast<std::size_t>(keys.first), static_cast<std::size_t>(keys.count));
        for (float& score : visible) {
            score *= arguments.scale;
        }
        const float total = exponentials(visible, maximum(visible));
        for (float& p : visible) {
            p /= total;
        }
        std::fill_n(row.begin(), keys.first, 0.0f);
        std::fill(row.begin() + keys.first + keys.count, row.end(), 0.0f);
        store_row(probabilities, i * shape.seq_kv, row);
    }
}

void softmax_backward(const SoftmaxShape& shape,
                      const SoftmaxArguments& arguments,
                      ConstTensorView probabilities,
                      TensorView gradient) {
    std::vector<float> p(static_cast<std::size_t>(shape.seq_kv));
    std::vector<float> d(p.size());
    const std::int64_t rows = shape.seq_q * shape.batch * shape.heads;
    for (std::int64_t i = 0; i < rows; ++i) {
        load_row(probabilities, i * shape.seq_kv, p);
        load_row(gradient, i * shape.seq_kv, d);
        const float mean = dot(p, d);
        for (std::size_t j = 0; j < d.size(); ++j) {
            d[j] = arguments.scale * p[j] * (d[j] - mean);
        }
        store_row(gradient, i * shape.seq_kv, d);
    }
}

}  // namespace orrery::cpu
