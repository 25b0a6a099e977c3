// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/activation/activation_cuda.h; formulas as in activation_cpu.cpp.
#pragma once

#include "kernels/activation/activation_cuda.h"
#include "kernels/cuda/row_pass.h"

namespace orrery::device {

enum class Curve : std::uint8_t { gelu, squared_relu, silu };

struct CurvePoint {
    float value;
    float slope;
};

template <class Block>
ORRERY_DEVICE float sigmoid(Block& block, float x) {
    constexpr float kMinusLog2e = -1.4426950408889634f;
    return block.reciprocal_approx(1.0f + block.exp2_approx(x * kMinusLog2e));
}

template <class Block>
ORRERY_DEVICE CurvePoint curve_at(Block& block, Curve curve, float x) {
    constexpr float kTwiceRoot = 1.5957691216057308f;  // 2 sqrt(2 / pi)
    constexpr float kCubic = 0.044715f;
    if (curve == Curve::gelu) {
        const float inner = kTwiceRoot * (x + kCubic * x * x * x);
        const float inner_slope = kTwiceRoot * (1.0f + 3.0f * kCubic * x * x);
        const float s = sigmoid(block, inner);
        return {x * s, s + x * s * (1.0f - s) * inner_slope};
    }
    if (curve == Curve::silu) {
        const float s = sigmoid(block, x);
        return {x * s, s + x * s * (1.0f - s)};
    }
    const float positive = x > 0.0f ? x : 0.0f;
    return {positive * positive, 2.0f * positive};
}

// Forward: dy is null and `out` y. Backward: `out` is dx. Gated: x is the gate's columns, then
// up's.
template <class T>
struct ActivationKernel {
    static constexpr int kThreadsMax = kPassThreads;
    std::int64_t tokens;
    std::int64_t ffn;
    Curve curve;
    bool gated;
    bool times_up;  // of gated ones
    bool vector;
    const T* x;
    Elements bias;
    const T* dy;
    T* out;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_own_columns(block, ffn, vector, [&]<int kWidth>(std::int64_t column) {
            float shift[kWidth] = {};
            float up_shift[kWidth] = {};
            if (bias.present()) {
                bias.read(column, shift);
                if (gated) {
                    bias.read(ffn + column, up_shift);
                }
            }
            for (std::int64_t token = block.y(); token < tokens; token += block.blocks_y()) {
                if (dy == nullptr) {
                    forward<kWidth>(block, token, column, shift, up_shift);
                } else {
                    backward<kWidth>(block, token, column, shift, up_shift);
                }
            }
        });
    }

    template <int kWidth, class Block>
    ORRERY_DEVICE void forward(Block& block,
                               std::int64_t token,
                               std::int64_t column,
                               const float (&shift)[kWidth],
                               const float (&up_shift)[kWidth]) const {
        float values[kWidth];
        float up[kWidth];
        const T* row = x + token * ffn * (gated ? 2 : 1);
        load(row + column, values);
        if (gated) {
            load(row + ffn + column, up);
        }
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            values[i] = curve_at(block, curve, values[i] + shift[i]).value;
            if (gated && times_up) {
                values[i] *= up[i] + up_shift[i];
            }
        }
        store(out + token * ffn + column, values);
    }

    template <int kWidth, class Block>
    ORRERY_DEVICE void backward(Block& block,
                                std::int64_t token,
                                std::int64_t column,
                                const float (&shift)[kWidth],
                                const float (&up_shift)[kWidth]) const {
        float values[kWidth];
        float gradient[kWidth];
        float up[kWidth];
        const std::int64_t first = token * ffn * (gated ? 2 : 1) + column;
        load(x + first, values);
        load(dy + token * ffn + column, gradient);
        if (gated) {
            load(x + first + ffn, up);
        }
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            const CurvePoint point = curve_at(block, curve, values[i] + shift[i]);
            values[i] = gradient[i] * point.slope;
            if (gated) {
                values[i] = point.slope * (times_up ? up[i] + up_shift[i] : 1.0f) * gradient[i];
                up[i] = point.value * gradient[i];
            }
        }
        store(out + first, values);
        if (gated) {
            store(out + first + ffn, up);
        }
    }
};

// y times the last ffn columns of x.
template <class T>
struct GateProductKernel {
    static constexpr int kThreadsMax = kPassThreads;
    std::int64_t tokens;
    std::int64_t ffn;
    std::int64_t width;  // of y
    bool vector;
    const T* x;
    T* y;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_own_columns(block, ffn, vector, [&]<int kWidth>(std::int64_t column) {
            for (std::int64_t token = block.y(); token < tokens; token += block.blocks_y()) {
                float up[kWidth];
                float values[kWidth];
                load(x + (2 * token + 1) * ffn + column, up);
                load(y + token * width + column, values);
                ORRERY_UNROLL
                for (int i = 0; i < kWidth; ++i) {
                    values[i] *= up[i];
                }
                store(y + token * width + column, values);
            }
        });
    }
};

template <class Queue>
void activation(Queue& queue,
                const cpu::ActivationShape& shape,
                Curve curve,
                bool gated,
                ConstTensorView dy,
                ConstTensorView x,
                ConstTensorView bias,
                TensorView out,
                bool times_up = true) {
    ORRERY_CHECK(out.dtype == x.dtype && (dy.empty() || dy.dtype == x.dtype));
    const bool vector = vector_rows(shape.ffn, {dy, x, bias, out});
    for_dtype(x.dtype, [&]<class T>(T*) {
        queue.launch(ActivationKernel<T>{.tokens = shape.tokens,
                                         .ffn = shape.ffn,
                                         .curve = curve,
                                         .gated = gated,
                                         .times_up = times_up,
                                         .vector = vector,
                                         .x = elements<T>(x),
                                         .bias = any_elements(bias),
                                         .dy = elements<T>(dy),
                                         .out = elements<T>(out)},
                     row_pass_geometry(shape.tokens, shape.ffn, vector));
    });
}

inline Curve curve_of(cpu::Ungated function) {
    return function == cpu::Ungated::gelu ? Curve::gelu : Curve::squared_relu;
}
inline Curve curve_of(cpu::Gated function) {
    return function == cpu::Gated::swiglu ? Curve::silu : Curve::gelu;
}

template <class Queue>
void gelu_forward(Queue& queue,
                  const cpu::ActivationShape& shape,
                  cpu::Ungated function,
                  ConstTensorView x,
                  ConstTensorView bias,
                  TensorView y) {
    activation(queue, shape, curve_of(function), false, {}, x, bias, y);
}

template <class Queue>
void gelu_backward(Queue& queue,
                   const cpu::ActivationShape& shape,
                   cpu::Ungated function,
                   ConstTensorView dy,
                   ConstTensorView x,
                   ConstTensorView bias,
                   TensorView dx) {
    activation(queue, shape, curve_of(function), false, dy, x, bias, dx);
}

template <class Queue>
void swiglu_forward(Queue& queue,
                    const cpu::ActivationShape& shape,
                    cpu::Gated function,
                    ConstTensorView x,
                    ConstTensorView bias,
                    TensorView y,
                    bool times_up) {
    activation(queue, shape, curve_of(function), true, {}, x, bias, y, times_up);
}

template <class Queue>
void swiglu_backward(Queue& queue,
                     const cpu::ActivationShape& shape,
                     cpu::Gated function,
                     ConstTensorView dy,
                     ConstTensorView x,
                     ConstTensorView bias,
                     TensorView dx,
                     bool times_up) {
    activation(queue, shape, curve_of(function), true, dy, x, bias, dx, times_up);
}

template <class Queue>
void gate_product(Queue& queue,
                  const cpu::ActivationShape& shape,
                  ConstTensorView x,
                  TensorView y) {
    ORRERY_CHECK(x.dtype == y.dtype);
    const bool vector = vector_rows(shape.ffn, {x, y});
    for_dtype(x.dtype, [&]<class T>(T*) {
        queue.launch(GateProductKernel<T>{.tokens = shape.tokens,
                                          .ffn = shape.ffn,
                                          .width = y.size / shape.tokens,
                                          .vector = vector,
                                          .x = elements<T>(x),
                                          .y = elements<T>(y)},
                     row_pass_geometry(shape.tokens, shape.ffn, vector));
    });
}

}  // namespace orrery::device
