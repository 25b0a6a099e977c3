// SPDX-License-Identifier: Apache-2.0
// AdamW and LAMB (kernels/optimizer/optimizer_cuda.h).
#pragma once

#include "kernels/optimizer/gradient_device.h"

namespace orrery::device {

struct OptimizerEntry {
    std::byte* gradient;
    float* m;
    float* v;
    // The parameter itself if it is fp32; null: a bf16 parameter without a master copy
    float* master;
    std::byte* parameter;
    std::int64_t size;
    ParameterPlace place;
    std::uint32_t stream;
    bool decays;
    bool counts;
    bool vector;
};

// Values of a step, computed from its scalars.
struct AdamStep {
    float learning_rate;
    float beta1;
    float beta2;
    float epsilon;
    float weight_decay;
    float m_correction;
    float v_correction;
    RandomKey rounding;  // without the stream
};

ORRERY_DEVICE RandomKey rounding_key(const float* scalars) {
    const auto bits = [scalars](DeviceScalar s) -> std::uint64_t {
        return bits_of(scalars[static_cast<int>(s)]);
    };
    return {.seed = bits(DeviceScalar::seed_high) << 32 | bits(DeviceScalar::seed_low),
            .purpose = RandomPurpose::stochastic_rounding,
            .round = static_cast<std::uint32_t>(scalars[static_cast<int>(DeviceScalar::step)])};
}

ORRERY_DEVICE AdamStep adam_step(const float* scalars) {
    const auto scalar = [scalars](DeviceScalar s) { return scalars[static_cast<int>(s)]; };
    AdamStep a{.learning_rate = scalar(DeviceScalar::learning_rate),
               .beta1 = scalar(DeviceScalar::beta1),
               .beta2 = scalar(DeviceScalar::beta2),
               .epsilon = scalar(DeviceScalar::epsilon),
               .weight_decay = scalar(DeviceScalar::weight_decay)};
    const auto step = static_cast<double>(scalar(DeviceScalar::step));
    a.rounding = rounding_key(scalars);
    a.m_correction = static_cast<float>(1.0 / (1.0 - pow(static_cast<double>(a.beta1), step)));
    a.v_correction = static_cast<float>(1.0 / (1.0 - pow(static_cast<double>(a.beta2), step)));
    return a;
}

// Computes the values once a step: its two powers take longer than all other work of a block before
// its first element.
struct AdamStepKernel {
    static constexpr int kThreadsMax = kWarp;
    const float* scalars;
    AdamStep* step;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        if (block.thread() == 0) {
            *step = adam_step(scalars);
        }
    }
};

// Updates m and v of kWidth elements; `direction` is m^ / (sqrt(v^) + epsilon) + weight_decay w.
template <int kWidth, class G>
ORRERY_DEVICE void adam_direction(const AdamStep& a,
                                  const OptimizerEntry& entry,
                                  std::int64_t i,
                                  const float (&weights)[kWidth],
                                  float (&direction)[kWidth]) {
    const float decay = entry.decays ? a.weight_decay : 0.0f;
    float m[kWidth];
    float v[kWidth];
    load(reinterpret_cast<const G*>(entry.gradient) + i, direction);
    load(entry.m + i, m);
    load(entry.v + i, v);
    ORRERY_UNROLL
    for (int j = 0; j < kWidth; ++j) {
        const float g = direction[j];
        m[j] = a.beta1 * m[j] + (1.0f - a.beta1) * g;
        v[j] = a.beta2 * v[j] + (1.0f - a.beta2) * g * g;
        direction[j] =
            m[j] * a.m_correction / (sqrtf(v[j] * a.v_correction) + a.epsilon) + decay * weights[j];
    }
    store(entry.m + i, m);
    store(entry.v + i, v);
}

// Rounds to bf16, up with a probability equal to the discarded part, as cpu::bf16_stochastic.
ORRERY_HOST_DEVICE float rounded_stochastically(float value, std::uint32_t word) {
    const std::uint32_t bits = bits_of(value);
    const bool finite = (bits & 0x7F800000u) != 0x7F800000u;
    return finite ? float_of_bits((bits + (word >> 16)) & 0xFFFF0000u) : value;
}

template <int kWidth>
ORRERY_DEVICE void load_weights(const OptimizerEntry& entry,
                                std::int64_t i,
                                float (&weights)[kWidth]) {
    if (entry.master != nullptr) {
        load(entry.master + i, weights);
    } else {
        load(reinterpret_cast<const Bf16*>(entry.parameter) + i, weights);
    }
}

template <int kWidth>
ORRERY_DEVICE void round_stochastically(RandomKey key,
                                        const OptimizerEntry& entry,
                                        std::int64_t i,
                                        float (&weights)[kWidth]) {
    key.stream = entry.stream;
    if (entry.place.run(i) >= kWidth) {
        WordStream words{key, entry.place.of(i)};
        ORRERY_UNROLL
        for (int j = 0; j < kWidth; ++j) {
            weights[j] = rounded_stochastically(weights[j], words());
        }
        return;
    }
    WordCache words{key};
    ORRERY_UNROLL
    for (int j = 0; j < kWidth; ++j) {
        weights[j] = rounded_stochastically(weights[j], words.at(entry.place.of(i + j)));
    }
}

// Writes weights to the master copy, if any, and, rounded, to the parameter.
template <int kWidth, class P>
ORRERY_DEVICE void write_weights(ParameterRounding rounding,
                                 const RandomKey& key,
                                 const OptimizerEntry& entry,
                                 std::int64_t i,
                                 float (&weights)[kWidth]) {
    if (entry.master != nullptr) {
        store(entry.master + i, weights);
    }
    if constexpr (kDtypeOf<P> == Dtype::bf16) {
        if (rounding == ParameterRounding::stochastic) {
            round_stochastically(key, entry, i, weights);
        }
        store(reinterpret_cast<P*>(entry.parameter) + i, weights);
    }
}

template <class G, class P>
struct AdamwKernel {
    static constexpr int kThreadsMax = kStepEndThreads;
    TensorList<OptimizerEntry> list;
    const AdamStep* step;
    ParameterRounding rounding;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const AdamStep a = *step;
        const int tensor = list.tensor_of(block.x());
        const OptimizerEntry entry = list.entry[tensor];
        const ListRange range = list.range_of(tensor, block.x());
        for_range(block, range, entry.vector, [&]<int kWidth>(std::int64_t i) {
            float weights[kWidth];
            float direction[kWidth];
            load_weights(entry, i, weights);
            adam_direction<kWidth, G>(a, entry, i, weights, direction);
            ORRERY_UNROLL
            for (int j = 0; j < kWidth; ++j) {
                weights[j] -= a.learning_rate * direction[j];
            }
            write_weights<kWidth, P>(rounding, a.rounding, entry, i, weights);
        });
    }
};

// Overwrites the gradient with the update, and sums the squares of weights and update per block.
template <class G>
struct LambUpdateKernel {
    static constexpr int kThreadsMax = kStepEndThreads;
    TensorList<OptimizerEntry> list;
    const AdamStep* step;
    double* squares;  // [blocks, 2]

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const AdamStep a = *step;
        const int tensor = list.tensor_of(block.x());
        const OptimizerEntry entry = list.entry[tensor];
        const ListRange range = list.range_of(tensor, block.x());
        double sums[2] = {0.0, 0.0};
        for_range(block, range, entry.vector, [&]<int kWidth>(std::int64_t i) {
            float weights[kWidth];
            float direction[kWidth];
            load_weights(entry, i, weights);
            adam_direction<kWidth, G>(a, entry, i, weights, direction);
            store(reinterpret_cast<G*>(entry.gradient) + i, direction);
            ORRERY_UNROLL
            for (int j = 0; j < kWidth; ++j) {
                const auto update = static_cast<double>(rounded<G>(direction[j]));
                sums[0] += static_cast<double>(weights[j]) * static_cast<double>(weights[j]);
                sums[1] += update * update;
            }
        });
        reduce_block(block, block.shared(), sums);
        if (block.thread() == 0) {
            squares[2 * block.x()] = sums[0];
            squares[2 * block.x() + 1] = sums[1];
        }
    }
    Geometry geometry() const {
        return {.blocks_x = list.blocks(),
                .threads = kThreadsMax,
                .shared_bytes = kReduceBytes<double, 2>};
    }
};

// A block sums the squares of a tensor's blocks.
struct LambNormsKernel {
    static constexpr int kThreadsMax = 128;
    TensorList<OptimizerEntry> list;
    const double* squares;  // [blocks, 2]
    float* norms;           // [tensors, 2]

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const auto tensor = static_cast<int>(block.x());
        const int first = tensor == 0 ? 0 : list.end_block[tensor - 1];
        double sums[2] = {0.0, 0.0};
        for (int i = first + block.thread(); i < list.end_block[tensor]; i += kThreadsMax) {
            sums[0] += squares[2 * i];
            sums[1] += squares[2 * i + 1];
        }
        reduce_block(block, block.shared(), sums);
        if (block.thread() == 0) {
            const bool counts = list.entry[tensor].counts;
            norms[2 * tensor] = counts ? static_cast<float>(sums[0]) : 0.0f;
            norms[2 * tensor + 1] = counts ? static_cast<float>(sums[1]) : 0.0f;
        }
    }
    Geometry geometry() const {
        return {.blocks_x = list.count,
                .threads = kThreadsMax,
                .shared_bytes = kReduceBytes<double, 2>};
    }
};

template <class G, class P>
struct LambApplyKernel {
    static constexpr int kThreadsMax = kStepEndThreads;
    TensorList<OptimizerEntry> list;
    const float* scalars;
    const float* norms;  // [tensors, 2]
    ParameterRounding rounding;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const float learning_rate = scalars[static_cast<int>(DeviceScalar::learning_rate)];
        const RandomKey key = rounding_key(scalars);
        const int tensor = list.tensor_of(block.x());
        const auto weight = static_cast<double>(norms[2 * tensor]);
        const auto update = static_cast<double>(norms[2 * tensor + 1]);
        const bool trusted = weight > 0 && update > 0;
        const float ratio = trusted ? static_cast<float>(sqrt(weight / update)) : 1.0f;
        const OptimizerEntry entry = list.entry[tensor];
        const ListRange range = list.range_of(tensor, block.x());
        for_range(block, range, entry.vector, [&]<int kWidth>(std::int64_t i) {
            float weights[kWidth];
            float direction[kWidth];
            load_weights(entry, i, weights);
            load(reinterpret_cast<const G*>(entry.gradient) + i, direction);
            ORRERY_UNROLL
            for (int j = 0; j < kWidth; ++j) {
                weights[j] -= learning_rate * ratio * direction[j];
            }
            write_weights<kWidth, P>(rounding, key, entry, i, weights);
        });
    }
};

inline std::vector<OptimizerEntry> optimizer_entries(std::span<const OptimizerTensor> tensors) {
    std::vector<OptimizerEntry> entries;
    for (const OptimizerTensor& own : tensors) {
        const cpu::OptimizerTensors& t = own.tensors;
        const TensorView master = t.parameter.dtype == Dtype::fp32 ? t.parameter : t.master;
        ORRERY_CHECK(master.empty()
                         ? t.parameter.dtype == Dtype::bf16 || t.parameter.empty()
                         : master.dtype == Dtype::fp32 && master.size == t.parameter.size);
        ORRERY_CHECK(t.m.dtype == Dtype::fp32 && t.v.dtype == Dtype::fp32);
        ORRERY_CHECK(t.parameter.dtype == tensors[0].tensors.parameter.dtype);
        ORRERY_CHECK(t.gradient.dtype == tensors[0].tensors.gradient.dtype);
        entries.push_back({.gradient = const_cast<std::byte*>(t.gradient.data),
                           .m = elements<float>(t.m),
                           .v = elements<float>(t.v),
                           .master = master.empty() ? nullptr : elements<float>(master),
                           .parameter = t.parameter.data,
                           .size = t.parameter.size,
                           .place = own.place,
                           .stream = own.stream,
                           .decays = own.decays,
                           .counts = own.counts,
                           .vector = aligned(t.gradient) && aligned(t.m) && aligned(t.v) &&
                                     (master.empty() || aligned(master)) && aligned(t.parameter)});
    }
    return entries;
}

// Calls with_types(G*, P*) for the types of gradients and parameters.
template <class Do>
void for_optimizer_types(std::span<const OptimizerTensor> tensors, const Do& with_types) {
    for_dtype(tensors[0].tensors.gradient.dtype, [&]<class G>(G* g) {
        for_dtype(tensors[0].tensors.parameter.dtype, [&]<class P>(P* p) { with_types(g, p); });
    });
}

template <class Queue>
void adamw(Queue& queue,
           ConstTensorView scalars,
           ParameterRounding rounding,
           std::span<const OptimizerTensor> tensors) {
    auto* step = reinterpret_cast<AdamStep*>(queue.scratch(sizeof(AdamStep)));
    queue.launch(AdamStepKernel{.scalars = elements<float>(scalars), .step = step}, Geometry{});
    for (const auto& list : lists_of(optimizer_entries(tensors))) {
        for_optimizer_types(tensors, [&]<class G, class P>(G*, P*) {
            queue.launch(AdamwKernel<G, P>{.list = list, .step = step, .rounding = rounding},
                         {.blocks_x = list.blocks(), .threads = kStepEndThreads});
        });
    }
}

template <class Queue>
void lamb_update(Queue& queue,
                 ConstTensorView scalars,
                 std::span<const OptimizerTensor> tensors,
                 TensorView norms) {
    const auto lists = lists_of(optimizer_entries(tensors));
    std::int64_t most = 0;
    for (const auto& list : lists) {
        most = std::max(most, list.blocks());
    }
    constexpr std::int64_t kStepBytes = (sizeof(AdamStep) + 15) / 16 * 16;
    std::byte* scratch = queue.scratch(kStepBytes + most * 16);
    auto* step = reinterpret_cast<AdamStep*>(scratch);
    auto* squares = reinterpret_cast<double*>(scratch + kStepBytes);  // for one list at a time
    queue.launch(AdamStepKernel{.scalars = elements<float>(scalars), .step = step}, Geometry{});
    float* own = elements<float>(norms);
    for (const auto& list : lists) {
        for_dtype(tensors[0].tensors.gradient.dtype, [&]<class G>(G*) {
            const LambUpdateKernel<G> update{.list = list, .step = step, .squares = squares};
            queue.launch(update, update.geometry());
        });
        const LambNormsKernel sum{.list = list, .squares = squares, .norms = own};
        queue.launch(sum, sum.geometry());
        own += 2 * list.count;
    }
}

template <class Queue>
void lamb_apply(Queue& queue,
                ConstTensorView scalars,
                ConstTensorView norms,
                ParameterRounding rounding,
                std::span<const OptimizerTensor> tensors) {
    const float* own = elements<float>(norms);
    for (const auto& list : lists_of(optimizer_entries(tensors))) {
        for_optimizer_types(tensors, [&]<class G, class P>(G*, P*) {
            queue.launch(LambApplyKernel<G, P>{.list = list,
                                               .scalars = elements<float>(scalars),
                                               .norms = own,
                                               .rounding = rounding},
                         {.blocks_x = list.blocks(), .threads = kStepEndThreads});
        });
        own += 2 * list.count;
    }
}

}  // namespace orrery::device
