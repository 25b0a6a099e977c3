// SPDX-License-Identifier: Apache-2.0
// 1 + tanh(u) = 2 sigmoid(2 u), so GELU in its tanh form is x sigmoid(2 u): no cancellation for
// negative x. Every function here is x s(x) with a derivative, given as both at once.
#include "kernels/activation/activation_cpu.h"

#include <vector>

#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

struct ValueAndSlope {
    float value;
    float slope;
};

inline float sigmoid(float x) {
    return 1.0f / (1.0f + exponential(-x));
}

inline ValueAndSlope gelu(float x) {
    constexpr float kTwiceRoot = 1.5957691216057308f;  // 2 sqrt(2 / pi)
    constexpr float kCubic = 0.044715f;
    const float s = sigmoid(kTwiceRoot * (x + kCubic * x * x * x));
    const float inner_slope = kTwiceRoot * (1.0f + 3.0f * kCubic * x * x);
    // s (1 - s) is 0 where s has saturated, even if x overflowed in inner_slope's place.
    return {x * s, s + x * s * (1.0f - s) * inner_slope};
}

inline ValueAndSlope silu(float x) {
    const float s = sigmoid(x);
    return {x * s, s + x * s * (1.0f - s)};
}

inline ValueAndSlope squared_relu(float x) {
    const float positive = x > 0.0f ? x : 0.0f;
    return {positive * positive, 2.0f * positive};
}

// A row of x with the bias added.
class BiasedRows {
public:
    BiasedRows(ConstTensorView x, ConstTensorView bias, std::int64_t width)
        : x_(x), bias_(static_cast<std::size_t>(width), 0.0f), row_(bias_.size()) {
        if (!bias.empty()) {
            load_row(bias, 0, bias_);
        }
    }
    std::span<float> operator()(std::int64_t token) {
        load_row(x_, token * static_cast<std::int64_t>(row_.size()), row_);
        add_to(row_, bias_);
        return row_;
    }

private:
    ConstTensorView x_;
    std::vector<float> bias_;
    std::vector<float> row_;
};

template <class Function>
void ungated_forward(const ActivationShape& shape,
                     BiasedRows rows,
                     TensorView y,
                     const Function& function) {
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        const std::span<float> row = rows(token);
        for (float& value : row) {
            value = function(value).value;
        }
        store_row(y, token * shape.ffn, row);
    }
}

template <class Function>
void ungated_backward(const ActivationShape& shape,
                      ConstTensorView dy,
                      BiasedRows rows,
                      TensorView dx,
                      const Function& function) {
    std::vector<float> gradient(static_cast<std::size_t>(shape.ffn));
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        const std::span<float> row = rows(token);
        load_row(dy, token * shape.ffn, gradient);
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            gradient[i] *= function(row[i]).slope;
        }
        store_row(dx, token * shape.ffn, gradient);
    }
}

template <class Function>
void gated_forward(const ActivationShape& shape,
                   BiasedRows rows,
                   TensorView y,
                   const Function& function) {
    const auto ffn = static_cast<std::size_t>(shape.ffn);
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        const std::span<float> gate = rows(token).first(ffn);
        const float* up = gate.data() + ffn;
        for (std::size_t i = 0; i < ffn; ++i) {
            gate[i] = function(gate[i]).value * up[i];
        }
        store_row(y, token * shape.ffn, gate);
    }
}

template <class Function>
void gated_backward(const ActivationShape& shape,
                    ConstTensorView dy,
                    BiasedRows rows,
                    TensorView dx,
                    const Function& function) {
    const auto ffn = static_cast<std::size_t>(shape.ffn);
    std::vector<float> gradient(ffn);
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        const std::span<float> row = rows(token);
        load_row(dy, token * shape.ffn, gradient);
        for (std::size_t i = 0; i < ffn; ++i) {
            const ValueAndSlope gate = function(row[i]);
            row[i] = gradient[i] * row[ffn + i] * gate.slope;
            row[ffn + i] = gradient[i] * gate.value;
        }
        store_row(dx, token * 2 * shape.ffn, row);
    }
}

}  // namespace

void gelu_forward(const ActivationShape& shape,
                  Ungated function,
                  ConstTensorView x,
                  ConstTensorView bias,
                  TensorView y) {
    BiasedRows rows{x, bias, shape.ffn};
    if (function == Ungated::gelu) {
        ungated_forward(shape, std::move(rows), y, [](float v) { return gelu(v); });
    } else {
        ungated_forward(shape, std::move(rows), y, [](float v) { return squared_relu(v); });
    }
}

void gelu_backward(const ActivationShape& shape,
                   Ungated function,
                   ConstTensorView dy,
                   ConstTensorView x,
                   ConstTensorView bias,
                   TensorView dx) {
    BiasedRows rows{x, bias, shape.ffn};
    if (function == Ungated::gelu) {
        ungated_backward(shape, dy, std::move(rows), dx, [](float v) { return gelu(v); });
    } else {
        ungated_backward(shape, dy, std::move(rows), dx, [](float v) { return squared_relu(v); });
    }
}

void swiglu_forward(const ActivationShape& shape,
                    Gated function,
                    ConstTensorView x,
                    ConstTensorView bias,
                    TensorView y) {
    BiasedRows rows{x, bias, 2 * shape.ffn};
    if (function == Gated::swiglu) {
        gated_forward(shape, std::move(rows), y, [](float v) { return silu(v); });
    } else {
        gated_forward(shape, std::move(rows), y, [](float v) { return gelu(v); });
    }
}

void swiglu_backward(const ActivationShape& shape,
                     Gated function,
                     ConstTensorView dy,
                     ConstTensorView x,
                     ConstTensorView bias,
                     TensorView dx) {
    BiasedRows rows{x, bias, 2 * shape.ffn};
    if (function == Gated::swiglu) {
        gated_backward(shape, dy, std::move(rows), dx, [](float v) { return silu(v); });
    } else {
        gated_backward(shape, dy, std::move(rows), dx, [](float v) { return gelu(v); });
    }
}

}  // namespace orrery::cpu
