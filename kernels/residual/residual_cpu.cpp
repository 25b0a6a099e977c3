// SPDX-License-Identifier: Apache-2.0
#include "kernels/residual/residual_cpu.h"

#include <algorithm>
#include <vector>

#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

constexpr std::int64_t kChunk = 4096;  // elements processed at a time if rows do not matter

// Multiplies a token's row by 0 or 1 / (1 - rate), and writes the mask if requested.
void drop(const ValueShard& shard,
          const DropoutArguments& dropout,
          std::int64_t token,
          std::span<float> row,
          TensorView mask) {
    const float scale = 1.0f / (1.0f - dropout.rate);
    RandomWords words{dropout.key, shard.row_start(token)};
    for (std::size_t i = 0; i < row.size(); ++i) {
        const bool kept = uniform(words()) >= dropout.rate;
        row[i] = kept ? row[i] * scale : 0.0f;
        if (!mask.empty()) {
            mask.data[token * shard.width + static_cast<std::int64_t>(i)] = std::byte{kept};
        }
    }
}

void check_dropout(const ValueShard& shard, const DropoutArguments& dropout, TensorView mask) {
    ORRERY_CHECK(dropout.rate >= 0.0f && dropout.rate < 1.0f);
    ORRERY_CHECK(mask.empty() || (mask.dtype == Dtype::uint8 && mask.size >= shard.size()));
}

}  // namespace

void residual_add(ConstTensorView a, ConstTensorView b, TensorView sum) {
    std::vector<float> left(static_cast<std::size_t>(std::min(kChunk, sum.size)));
    std::vector<float> right(left.size());
    for (std::int64_t first = 0; first < sum.size; first += kChunk) {
        const auto count = static_cast<std::size_t>(std::min(kChunk, sum.size - first));
        const std::span<float> row = std::span{left}.first(count);
        const std::span<float> other = std::span{right}.first(count);
        load_row(a, first, row);
        load_row(b, first, other);
        add_to(row, other);
        store_row(sum, first, row);
    }
}

void residual_add_biases(std::int64_t columns,
                         ConstTensorView a,
                         ConstTensorView b,
                         std::span<const ConstTensorView> biases,
                         TensorView sum) {
    residual_add(a, b, sum);
    for (const ConstTensorView& bias : biases) {
        for (std::int64_t first = 0; first < sum.size; first += columns) {
            const TensorView row = slice(sum, first, columns);
            residual_add(row, bias, row);
        }
    }
}

void bias_dropout_add(const ValueShard& shard,
                      const DropoutArguments& dropout,
                      const BiasDropoutAdd& operands) {
    check_dropout(shard, dropout, operands.mask);
    const auto width = static_cast<std::size_t>(shard.width);
    std::vector<float> bias(width, 0.0f);
    if (!operands.bias.empty()) {
        load_row(operands.bias, 0, bias);
    }
    std::vector<float> row(width);
    std::vector<float> residual(width);
    for (std::int64_t token = 0; token < shard.tokens(); ++token) {
        load_row(operands.branch, token * shard.width, row);
        load_row(operands.residual, token * shard.width, residual);
        add_to(row, bias);
        drop(shard, dropout, token, row, operands.mask);
        add_to(row, residual);
        store_row(operands.sum, token * shard.width, row);
    }
}

void dropout_forward(const ValueShard& shard,
                     const DropoutArguments& dropout,
                     ConstTensorView x,
                     TensorView y,
                     TensorView mask) {
    check_dropout(shard, dropout, mask);
    std::vector<float> row(static_cast<std::size_t>(shard.width));
    for (std::int64_t token = 0; token < shard.tokens(); ++token) {
        load_row(x, token * shard.width, row);
        drop(shard, dropout, token, row, mask);
        store_row(y, token * shard.width, row);
    }
}

void bias_gradient(std::int64_t tokens,
                   std::int64_t columns,
                   ConstTensorView dy,
                   TensorView dbias) {
    const auto width = static_cast<std::size_t>(columns);
    std::vector<float> sums(width, 0.0f);
    std::vector<float> row(width);
    for (std::int64_t token = 0; token < tokens; ++token) {
        load_row(dy, token * columns, row);
        add_to(sums, row);
    }
    load_row(dbias, 0, row);
    add_to(row, sums);
    store_row(dbias, 0, row);
}

}  // namespace orrery::cpu
