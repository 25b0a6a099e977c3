// SPDX-License-Identifier: Apache-2.0
// Norm and scale of gradients (kernels/optimizer/optimizer_cuda.h).
#pragma once

#include "engine/program/device_scalars.h"
#include "kernels/cuda/reduce.h"
#include "kernels/optimizer/optimizer_cuda.h"
#include "kernels/optimizer/tensor_list.h"
#include "kernels/residual/residual_device.h"

namespace orrery::device {

inline constexpr int kStepEndThreads = 256;

struct GradientEntry {
    std::byte* data;
    std::int64_t size;
    bool vector;
};

template <class T>
struct SquaresKernel {
    static constexpr int kThreadsMax = kStepEndThreads;
    TensorList<GradientEntry> list;
    double* sums;  // one per block

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const int tensor = list.tensor_of(block.x());
        const GradientEntry& entry = list.entry[tensor];
        const T* gradient = reinterpret_cast<const T*>(entry.data);
        double sum[1] = {0.0};
        const ListRange range = list.range_of(tensor, block.x());
        for_range(block, range, entry.vector, [&]<int kWidth>(std::int64_t i) {
            float values[kWidth];
            load(gradient + i, values);
            ORRERY_UNROLL
            for (int j = 0; j < kWidth; ++j) {
                sum[0] += static_cast<double>(values[j]) * static_cast<double>(values[j]);
            }
        });
        reduce_block(block, block.shared(), sum);
        if (block.thread() == 0) {
            sums[block.x()] = sum[0];
        }
    }
};

struct SquaresSumKernel {
    static constexpr int kThreadsMax = 1024;
    const double* sums;
    std::int64_t count;
    float* squared;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        double sum[1] = {0.0};
        for (std::int64_t i = block.thread(); i < count; i += block.threads()) {
            sum[0] += sums[i];
        }
        reduce_block(block, block.shared(), sum);
        if (block.thread() == 0) {
            *squared = static_cast<float>(sum[0]);
        }
    }
};

template <class T>
struct GradientScaleKernel {
    static constexpr int kThreadsMax = kStepEndThreads;
    TensorList<GradientEntry> list;
    const float* squared;
    const float* clip_norm;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const auto most = static_cast<double>(*clip_norm);
        const double norm = sqrt(static_cast<double>(*squared));
        const double ratio = most / (norm + 1e-6);
        const float factor = most <= 0 ? 1.0f : static_cast<float>(ratio < 1.0 ? ratio : 1.0);
        if (factor == 1.0f) {
            return;
        }
        const int tensor = list.tensor_of(block.x());
        const GradientEntry& entry = list.entry[tensor];
        T* gradient = reinterpret_cast<T*>(entry.data);
        const ListRange range = list.range_of(tensor, block.x());
        for_range(block, range, entry.vector, [&]<int kWidth>(std::int64_t i) {
            float values[kWidth];
            load(gradient + i, values);
            ORRERY_UNROLL
            for (int j = 0; j < kWidth; ++j) {
                values[j] *= factor;
            }
            store(gradient + i, values);
        });
    }
};

template <class View>
std::vector<GradientEntry> gradient_entries(std::span<const View> gradients) {
    std::vector<GradientEntry> entries;
    for (const View& gradient : gradients) {
        ORRERY_CHECK(gradient.dtype == gradients[0].dtype);
        entries.push_back({.data = const_cast<std::byte*>(gradient.data),
                           .size = gradient.size,
                           .vector = aligned(gradient)});
    }
    return entries;
}

template <class Queue>
void gradient_accumulate(Queue& queue, ConstTensorView gradient, TensorView sum) {
    residual_add(queue, sum, gradient, sum);
}

template <class Queue>
void gradient_norm(Queue& queue, std::span<const ConstTensorView> gradients, TensorView squared) {
    const auto lists = lists_of(gradient_entries(gradients));
    std::int64_t blocks = 0;
    for (const auto& list : lists) {
        blocks += list.blocks();
    }
    auto* sums = reinterpret_cast<double*>(queue.scratch(blocks * 8));
    std::int64_t first = 0;
    for (const auto& list : lists) {
        for_dtype(gradients[0].dtype, [&]<class T>(T*) {
            queue.launch(SquaresKernel<T>{.list = list, .sums = sums + first},
                         {.blocks_x = list.blocks(),
                          .threads = kStepEndThreads,
                          .shared_bytes = kReduceBytes<double, 1>});
        });
        first += list.blocks();
    }
    queue.launch(
        SquaresSumKernel{.sums = sums, .count = blocks, .squared = elements<float>(squared)},
        {.threads = SquaresSumKernel::kThreadsMax, .shared_bytes = kReduceBytes<double, 1>});
}

inline const float* scalar_pointer(ConstTensorView scalars, DeviceScalar scalar) {
    return elements<float>(scalars) + static_cast<int>(scalar);
}

template <class Queue>
void gradient_scale(Queue& queue,
                    ConstTensorView squared,
                    ConstTensorView scalars,
                    std::span<const TensorView> gradients) {
    for (const auto& list : lists_of(gradient_entries(gradients))) {
        for_dtype(gradients[0].dtype, [&]<class T>(T*) {
            queue.launch(GradientScaleKernel<T>{.list = list,
                                                .squared = elements<float>(squared),
                                                .clip_norm = scalar_pointer(
                                                    scalars, DeviceScalar::clip_norm)},
                         {.blocks_x = list.blocks(), .threads = kStepEndThreads});
        });
    }
}

}  // namespace orrery::device
