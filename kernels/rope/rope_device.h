// SPDX-License-Identifier: Apache-2.0
// The kernel of kernels/rope/rope_cuda.h. A thread has one position, a few neighbouring columns of
// the first half of a head, and their partners in the second half. It computes the angles once, and
// rotates these columns of several heads and all sequences.
#pragma once

#include "kernels/cuda/flat.h"
#include "kernels/rope/rope_cuda.h"

namespace orrery::device {

inline constexpr int kRopeHalfMax = kRopeHeadMax / 2;

struct RopeAngles {
    double frequency[kRopeHalfMax];  // base^(-2 i / head_dim)
};

inline RopeAngles rope_angles(std::int64_t head_dim, double base) {
    RopeAngles angles{};
    for (std::int64_t i = 0; i < head_dim / 2; ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
        angles.frequency[i] = std::pow(base, exponent);
    }
    return angles;
}

// Of a position and a column, less whole turns: fp32 would lose them at large positions.
ORRERY_DEVICE float rope_angle(const RopeAngles& angles, std::int64_t position, int column) {
    constexpr double kTurn = 6.283185307179586;
    const double angle = static_cast<double>(position) * angles.frequency[column];
    return static_cast<float>(angle - kTurn * rint(angle / kTurn));
}

template <class T, int kWidth>
struct RopeKernel {
    static constexpr int kThreadsMax = 128;
    static constexpr int kHeads = 8;  // heads per thread
    SequencePositions sequence;
    std::int64_t batch;
    std::int64_t turned;  // number of query and key heads
    std::int64_t row_width;
    int half;
    float direction;
    T* qkv;
    RopeAngles angles;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t parts = half / kWidth;
        const std::int64_t thread = block.x() * kThreadsMax + block.thread();
        const std::int64_t local = thread / parts;
        const int column = static_cast<int>(thread % parts) * kWidth;
        if (local >= sequence.length) {
            return;
        }
        const std::int64_t position = sequence.of(local);
        float cosine[kWidth];
        float sine[kWidth];
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            const float angle = rope_angle(angles, position, column + i);
            cosine[i] = cosf(angle);
            sine[i] = direction * sinf(angle);
        }
        const std::int64_t first_head = block.y() * kHeads;
        const std::int64_t last_head = first_head + kHeads < turned ? first_head + kHeads : turned;
        for (std::int64_t b = 0; b < batch; ++b) {
            for (std::int64_t head = first_head; head < last_head; ++head) {
                T* at = qkv + (local * batch + b) * row_width + head * 2 * half + column;
                turn(at, cosine, sine);
            }
        }
    }

    ORRERY_DEVICE void turn(T* at,
                            const float (&cosine)[kWidth],
                            const float (&sine)[kWidth]) const {
        float left[kWidth];
        float right[kWidth];
        load(at, left);
        load(at + half, right);
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            const float x = left[i];
            left[i] = x * cosine[i] - right[i] * sine[i];
            right[i] = right[i] * cosine[i] + x * sine[i];
        }
        store(at, left);
        store(at + half, right);
    }
};

template <class T, int kWidth, class Queue>
void launch_rope(Queue& queue, const cpu::RopeShape& shape, TensorView qkv, float direction) {
    const std::int64_t half = shape.head_dim / 2;
    const RopeKernel<T, kWidth> kernel{
        .sequence = shape.sequence,
        .batch = shape.batch,
        .turned = shape.heads + shape.kv_heads,
        .row_width = (shape.heads + 2 * shape.kv_heads) * shape.head_dim,
        .half = static_cast<int>(half),
        .direction = direction,
        .qkv = elements<T>(qkv),
        .angles = rope_angles(shape.head_dim, shape.base)};
    const std::int64_t threads = shape.sequence.length * (half / kWidth);
    queue.launch(kernel,
                 {.blocks_x = (threads + kernel.kThreadsMax - 1) / kernel.kThreadsMax,
                  .blocks_y = (kernel.turned + kernel.kHeads - 1) / kernel.kHeads,
                  .threads = kernel.kThreadsMax});
}

template <class Queue>
void rope(Queue& queue, const cpu::RopeShape& shape, TensorView qkv, float direction) {
    ORRERY_CHECK(shape.head_dim % 2 == 0 && shape.head_dim <= 2 * kRopeHalfMax);
    for_dtype(qkv.dtype, [&]<class T>(T*) {
        if (aligned(qkv) && shape.head_dim % (2 * kPack<T>) == 0) {
            launch_rope<T, kPack<T>>(queue, shape, qkv, direction);
        } else {
            launch_rope<T, 1>(queue, shape, qkv, direction);
        }
    });
}

template <class Queue>
void rope_forward(Queue& queue, const cpu::RopeShape& shape, TensorView qkv) {
    rope(queue, shape, qkv, 1.0f);
}

template <class Queue>
void rope_backward(Queue& queue, const cpu::RopeShape& shape, TensorView dqkv) {
    rope(queue, shape, dqkv, -1.0f);
}

}  // namespace orrery::device
