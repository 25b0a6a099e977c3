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

// 1 / (1 + 2^exponent): sigmoid(x) of exponent = -x log2(e).
template <class Block>
ORRERY_DEVICE float sigmoid(Block& block, float exponent) {
    return block.reciprocal_approx(1.0f + block.exp2_approx(exponent));
}

// The compiler removes the members of the result that the caller does not use.
template <class Block>
ORRERY_DEVICE CurvePoint curve_at(Block& block, Curve curve, float x) {
    constexpr float kMinusLog2e = -1.4426950408889634f;
    constexpr float kTwiceRoot = 1.5957691216057308f;  // 2 sqrt(2 / pi)
    constexpr float kCubic = 0.044715f;
    if (curve == Curve::gelu) {
        const float square = x * x;
        const float exponent =
            x * fused(kMinusLog2e * kTwiceRoot * kCubic, square, kMinusLog2e * kTwiceRoot);
        const float inner_slope = fused(3.0f * kTwiceRoot * kCubic, square, kTwiceRoot);
        const float s = sigmoid(block, exponent);
        const float value = x * s;
        return {value, fused(fused(-value, s, value), inner_slope, s)};
    }
    if (curve == Curve::silu) {
        const float s = sigmoid(block, x * kMinusLog2e);
        const float value = x * s;
        return {value, fused(-value, s, value) + s};
    }
    const float positive = x > 0.0f ? x : 0.0f;
    return {positive * positive, 2.0f * positive};
}

// The operands of a pass. Forward: dy is null and `out` is y. Backward: `out` is dx. Gated: x has
// the gate's columns, then up's.
template <class T>
struct ActivationPass {
    std::int64_t tokens;
    std::int64_t ffn;
    bool times_up;  // for gated activations
    bool vector;
    const T* x;
    Elements bias;
    const T* dy;
    T* out;
};

// A kernel for each curve and pass. A branch for every element would cost as much as the curve, and
// the gated backward pass needs more registers than the others.
template <class T, Curve kCurve, bool kGated, bool kBackward>
struct ActivationKernel : ActivationPass<T> {
    static constexpr int kThreadsMax = kPassThreads;
    static constexpr int kAtOnce = kGated && kBackward ? 1 : 2;  // rows loaded at once
    using ActivationPass<T>::ffn;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_own_columns(block, ffn, this->vector, [&]<int kWidth>(std::int64_t column) {
            float shift[kWidth] = {};
            float up_shift[kWidth] = {};
            if (this->bias.present()) {
                this->bias.read(column, shift);
                if (kGated) {
                    this->bias.read(ffn + column, up_shift);
                }
            }
            for_own_rows<kAtOnce>(
                block, this->tokens, [&]<int kRows>(std::int64_t token, std::int64_t step) {
                    Row<kWidth> rows[kRows];
                    ORRERY_UNROLL
                    for (int r = 0; r < kRows; ++r) {
                        read(token + r * step, column, rows[r]);
                    }
                    ORRERY_UNROLL
                    for (int r = 0; r < kRows; ++r) {
                        compute(block, token + r * step, column, shift, up_shift, rows[r]);
                    }
                });
        });
    }

    // A thread's elements of a row.
    template <int kWidth>
    struct Row {
        RawElements<T, kWidth> x;
        RawElements<T, kWidth> up;
        RawElements<T, kWidth> dy;
    };
    // The index in x and dx of the thread's first column.
    ORRERY_DEVICE std::int64_t place(std::int64_t token, std::int64_t column) const {
        return token * ffn * (kGated ? 2 : 1) + column;
    }
    template <int kWidth>
    ORRERY_DEVICE void read(std::int64_t token, std::int64_t column, Row<kWidth>& row) const {
        row.x.read(this->x + place(token, column));
        if constexpr (kGated) {
            row.up.read(this->x + place(token, column) + ffn);
        }
        if constexpr (kBackward) {
            row.dy.read(this->dy + token * ffn + column);
        }
    }
    template <int kWidth, class Block>
    ORRERY_DEVICE void compute(Block& block,
                               std::int64_t token,
                               std::int64_t column,
                               const float (&shift)[kWidth],
                               const float (&up_shift)[kWidth],
                               const Row<kWidth>& row) const {
        float values[kWidth];
        float up[kWidth] = {};
        float gradient[kWidth] = {};
        row.x.widen_to(values);
        if constexpr (kGated) {
            row.up.widen_to(up);
        }
        if constexpr (kBackward) {
            row.dy.widen_to(gradient);
        }
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            const CurvePoint point = curve_at(block, kCurve, values[i] + shift[i]);
            const float factor = kGated && this->times_up ? up[i] + up_shift[i] : 1.0f;
            if constexpr (kBackward) {
                values[i] = point.slope * factor * gradient[i];
                up[i] = point.value * gradient[i];
            } else {
                values[i] = point.value * factor;
            }
        }
        if constexpr (kBackward) {
            store(this->out + place(token, column), values);
            if constexpr (kGated) {
                store(this->out + place(token, column) + ffn, up);
            }
        } else {
            store(this->out + token * ffn + column, values);
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

// Calls with_curve(std::integral_constant<Curve, ...>).
template <class WithCurve>
void for_curve(cpu::Ungated function, const WithCurve& with_curve) {
    if (function == cpu::Ungated::gelu) {
        with_curve(std::integral_constant<Curve, Curve::gelu>{});
    } else {
        with_curve(std::integral_constant<Curve, Curve::squared_relu>{});
    }
}
template <class WithCurve>
void for_curve(cpu::Gated function, const WithCurve& with_curve) {
    if (function == cpu::Gated::swiglu) {
        with_curve(std::integral_constant<Curve, Curve::silu>{});
    } else {
        with_curve(std::integral_constant<Curve, Curve::gelu>{});
    }
}

template <bool kBackward, class Queue, class Function>
void activation(Queue& queue,
                const cpu::ActivationShape& shape,
                Function function,
                ConstTensorView dy,
                ConstTensorView x,
                ConstTensorView bias,
                TensorView out,
                bool times_up = true) {
    constexpr bool kGated = std::is_same_v<Function, cpu::Gated>;
    ORRERY_CHECK(out.dtype == x.dtype && (dy.empty() || dy.dtype == x.dtype));
    const bool vector = vector_rows(shape.ffn, {dy, x, bias, out});
    for_dtype(x.dtype, [&]<class T>(T*) {
        const ActivationPass<T> pass{.tokens = shape.tokens,
                                     .ffn = shape.ffn,
                                     .times_up = times_up,
                                     .vector = vector,
                                     .x = elements<T>(x),
                                     .bias = any_elements(bias),
                                     .dy = elements<T>(dy),
                                     .out = elements<T>(out)};
        for_curve(function, [&]<Curve kCurve>(std::integral_constant<Curve, kCurve>) {
            queue.launch(ActivationKernel<T, kCurve, kGated, kBackward>{pass},
                         row_pass_geometry(shape.tokens, shape.ffn, vector));
        });
    });
}

template <class Queue>
void gelu_forward(Queue& queue,
                  const cpu::ActivationShape& shape,
                  cpu::Ungated function,
                  ConstTensorView x,
                  ConstTensorView bias,
                  TensorView y) {
    activation<false>(queue, shape, function, {}, x, bias, y);
}

template <class Queue>
void gelu_backward(Queue& queue,
                   const cpu::ActivationShape& shape,
                   cpu::Ungated function,
                   ConstTensorView dy,
                   ConstTensorView x,
                   ConstTensorView bias,
                   TensorView dx) {
    activation<true>(queue, shape, function, dy, x, bias, dx);
}

template <class Queue>
void swiglu_forward(Queue& queue,
                    const cpu::ActivationShape& shape,
                    cpu::Gated function,
                    ConstTensorView x,
                    ConstTensorView bias,
                    TensorView y,
                    bool times_up) {
    activation<false>(queue, shape, function, {}, x, bias, y, times_up);
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
    activation<true>(queue, shape, function, dy, x, bias, dx, times_up);
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
