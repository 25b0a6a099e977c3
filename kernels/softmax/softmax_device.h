// SPDX-License-Identifier: Apache-2.0
// Kernels of kernels/softmax/softmax_cuda.h: a block processes a row (one query and head).
#pragma once

#include "kernels/cuda/flat.h"
#include "kernels/cuda/reduce.h"
#include "kernels/softmax/softmax_cuda.h"

namespace orrery::device {

inline constexpr int kSoftmaxThreads = 128;

template <class T>
struct SoftmaxForwardKernel {
    static constexpr int kThreadsMax = kSoftmaxThreads;
    SoftmaxShape shape;
    cpu::SoftmaxArguments arguments;
    const T* scores;
    T* probabilities;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        constexpr float kNothing = -__builtin_huge_valf();
        const std::int64_t first_element = block.x() * shape.seq_kv;
        const std::int64_t query = block.x() / (shape.batch * shape.heads);
        std::int64_t end = shape.seq_kv;
        std::int64_t first = 0;
        if (shape.causal) {
            end = shape.seq_kv - shape.seq_q + query + 1;
            end = end > 0 ? end : 0;
            first = arguments.window > 0 && end > arguments.window ? end - arguments.window : 0;
        }
        const auto score = [&](std::int64_t i) {
            return widen(scores[first_element + i]) * arguments.scale;
        };
        float maximum[1] = {kNothing};
        for (std::int64_t i = first + block.thread(); i < end; i += kThreadsMax) {
            maximum[0] = Larger{}(maximum[0], score(i));
        }
        reduce_block(block, block.shared(), maximum, Larger{});
        float sum[1] = {0.0f};
        for (std::int64_t i = first + block.thread(); i < end; i += kThreadsMax) {
            sum[0] += expf(score(i) - maximum[0]);
        }
        reduce_block(block, block.shared(), sum);
        for (std::int64_t i = block.thread(); i < shape.seq_kv; i += kThreadsMax) {
            const bool visible = i >= first && i < end;
            narrow(visible ? expf(score(i) - maximum[0]) / sum[0] : 0.0f,
                   probabilities[first_element + i]);
        }
    }
};

template <class T>
struct SoftmaxBackwardKernel {
    static constexpr int kThreadsMax = kSoftmaxThreads;
    std::int64_t columns;
    float scale;
    const T* probabilities;
    T* gradient;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const T* p = probabilities + block.x() * columns;
        T* d = gradient + block.x() * columns;
        float mean[1] = {0.0f};
        for (std::int64_t i = block.thread(); i < columns; i += kThreadsMax) {
            mean[0] += widen(p[i]) * widen(d[i]);
        }
        reduce_block(block, block.shared(), mean);
        for (std::int64_t i = block.thread(); i < columns; i += kThreadsMax) {
            narrow(scale * widen(p[i]) * (widen(d[i]) - mean[0]), d[i]);
        }
    }
};

inline Geometry softmax_geometry(const SoftmaxShape& shape) {
    return {.blocks_x = shape.batch * shape.heads * shape.seq_q,
            .threads = kSoftmaxThreads,
            .shared_bytes = kReduceBytes<float, 1>};
}

template <class Queue>
void softmax_forward(Queue& queue,
                     const SoftmaxShape& shape,
                     const cpu::SoftmaxArguments& arguments,
                     ConstTensorView scores,
                     TensorView probabilities) {
    ORRERY_CHECK(scores.dtype == probabilities.dtype);
    for_dtype(scores.dtype, [&]<class T>(T*) {
        queue.launch(SoftmaxForwardKernel<T>{.shape = shape,
                                             .arguments = arguments,
                                             .scores = elements<T>(scores),
                                             .probabilities = elements<T>(probabilities)},
                     softmax_geometry(shape));
    });
}

template <class Queue>
void softmax_backward(Queue& queue,
                      const SoftmaxShape& shape,
                      const cpu::SoftmaxArguments& arguments,
                      ConstTensorView probabilities,
                      TensorView gradient) {
    ORRERY_CHECK(gradient.dtype == probabilities.dtype);
    for_dtype(gradient.dtype, [&]<class T>(T*) {
        queue.launch(SoftmaxBackwardKernel<T>{.columns = shape.seq_kv,
                                              .scale = arguments.scale,
                                              .probabilities = elements<T>(probabilities),
                                              .gradient = elements<T>(gradient)},
                     softmax_geometry(shape));
    });
}

}  // namespace orrery::device
