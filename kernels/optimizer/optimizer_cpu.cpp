// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/optimizer_cpu.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/residual/residual_cpu.h"

namespace orrery::cpu {
namespace {

constexpr std::int64_t kBlock = 4096;  // elements processed at a time

// Calls work(first, count) for consecutive blocks of `size` elements.
template <class Work>
void for_blocks(std::int64_t size, const Work& work) {
    for (std::int64_t first = 0; first < size; first += kBlock) {
        work(first, static_cast<std::size_t>(std::min(kBlock, size - first)));
    }
}

TensorView master_of(const OptimizerTensors& tensors) {
    return tensors.master.empty() ? tensors.parameter : tensors.master;
}

std::vector<float> read(ConstTensorView tensor, std::int64_t first, std::size_t count) {
    std::vector<float> block(count);
    load_row(tensor, first, block);
    return block;
}

// Updates Adam's moments of a block. Returns m^ / (sqrt(v^) + epsilon) + weight_decay w.
std::vector<float> adam_direction(const OptimizerArguments& a,
                                  const OptimizerTensors& tensors,
                                  std::int64_t first,
                                  std::span<const float> weights) {
    const auto correction = [&](float beta) {
        return static_cast<float>(
            1.0 / (1.0 - std::pow(static_cast<double>(beta), static_cast<double>(a.step))));
    };
    const float m_correction = correction(a.beta1);
    const float v_correction = correction(a.beta2);
    std::vector<float> direction = read(tensors.gradient, first, weights.size());
    std::vector<float> m = read(tensors.m, first, weights.size());
    std::vector<float> v = read(tensors.v, first, weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const float g = direction[i] * a.gradient_factor;
        m[i] = a.beta1 * m[i] + (1.0f - a.beta1) * g;
        v[i] = a.beta2 * v[i] + (1.0f - a.beta2) * g * g;
        direction[i] = m[i] * m_correction / (std::sqrt(v[i] * v_correction) + a.epsilon) +
                       a.weight_decay * weights[i];
    }
    store_row(tensors.m, first, m);
    store_row(tensors.v, first, v);
    return direction;
}

// Writes a block of weights to the master copy, if any, and, rounded, to the parameter.
void write_weights(const OptimizerArguments& arguments,
                   const OptimizerTensors& tensors,
                   std::int64_t first,
                   std::span<const float> weights) {
    if (!tensors.master.empty()) {
        store_row(tensors.master, first, weights);
    }
    if (!arguments.stochastic_rounding || tensors.parameter.dtype != Dtype::bf16) {
        store_row(tensors.parameter, first, weights);
        return;
    }
    const auto size = static_cast<std::int64_t>(weights.size());
    for (std::int64_t i = 0; i < size;) {
        const std::int64_t end = std::min(size, i + arguments.place.run(first + i));
        RandomWords words{arguments.rounding, arguments.place.of(first + i)};
        for (; i < end; ++i) {
            const std::uint16_t bits =
                bf16_stochastic(weights[static_cast<std::size_t>(i)], words());
            std::memcpy(tensors.parameter.data + 2 * (first + i), &bits, 2);
        }
    }
}

void check(const OptimizerArguments& arguments, const OptimizerTensors& tensors) {
    ORRERY_CHECK(arguments.step >= 1);
    ORRERY_CHECK(tensors.m.dtype == Dtype::fp32 && tensors.v.dtype == Dtype::fp32);
    ORRERY_CHECK(tensors.master.empty() || tensors.master.dtype == Dtype::fp32);
}

}  // namespace

void gradient_accumulate(ConstTensorView gradient, TensorView sum) {
    residual_add(sum, gradient, sum);
}

double squared_norm(ConstTensorView gradient) {
    static_assert(kBlock == kNormBlock);
    double total = 0;
    for_blocks(gradient.size, [&](std::int64_t first, std::size_t count) {
        double part = 0;
        for (const float value : read(gradient, first, count)) {
            part += static_cast<double>(value) * static_cast<double>(value);
        }
        total += part;
    });
    return total;
}

float clip_factor(double norm, double max_norm) {
    return max_norm <= 0 ? 1.0f : static_cast<float>(std::min(1.0, max_norm / (norm + 1e-6)));
}

void gradient_scale(TensorView gradient, float factor) {
    for_blocks(gradient.size, [&](std::int64_t first, std::size_t count) {
        std::vector<float> block = read(gradient, first, count);
        for (float& value : block) {
            value *= factor;
        }
        store_row(gradient, first, block);
    });
}

void adamw(const OptimizerArguments& arguments, const OptimizerTensors& tensors) {
    check(arguments, tensors);
    for_blocks(tensors.parameter.size, [&](std::int64_t first, std::size_t count) {
        std::vector<float> weights = read(master_of(tensors), first, count);
        const std::vector<float> direction = adam_direction(arguments, tensors, first, weights);
        for (std::size_t i = 0; i < count; ++i) {
            weights[i] -= arguments.learning_rate * direction[i];
        }
        write_weights(arguments, tensors, first, weights);
    });
}

LambNorms lamb_update(const OptimizerArguments& arguments,
                      const OptimizerTensors& tensors,
                      TensorView update) {
    check(arguments, tensors);
    for_blocks(tensors.parameter.size, [&](std::int64_t first, std::size_t count) {
        const std::vector<float> weights = read(master_of(tensors), first, count);
        store_row(update, first, adam_direction(arguments, tensors, first, weights));
    });
    return {squared_norm(master_of(tensors)), squared_norm(update)};
}

void lamb_apply(const OptimizerArguments& arguments,
                const LambNorms& norms,
                ConstTensorView update,
                const OptimizerTensors& tensors) {
    check(arguments, tensors);
    const bool trusted = norms.weight > 0 && norms.update > 0;
    const auto ratio = trusted ? static_cast<float>(std::sqrt(norms.weight / norms.update)) : 1.0f;
    for_blocks(tensors.parameter.size, [&](std::int64_t first, std::size_t count) {
        std::vector<float> weights = read(master_of(tensors), first, count);
        const std::vector<float> direction = read(update, first, count);
        for (std::size_t i = 0; i < count; ++i) {
            weights[i] -= arguments.learning_rate * ratio * direction[i];
        }
        write_weights(arguments, tensors, first, weights);
    });
}

std::uint16_t bf16_stochastic(float value, std::uint32_t word) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const bool is_finite = (bits & 0x7F800000u) != 0x7F800000u;
    return is_finite ? static_cast<std::uint16_t>((bits + (word >> 16)) >> 16)
                     : bf16_of_float(value);
}

}  // namespace orrery::cpu
