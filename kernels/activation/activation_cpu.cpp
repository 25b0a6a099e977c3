// SPDX-License-Identifier: Apache-2.0
// 1 + tanh(u) = 2 sigmoid(2 u), so that GELU in its tanh form is x sigmoid(2 u), which has no
// cancellation for negative x.
#include "kernels/activation/activation_cpu.h"

#include <vector>

#include "kernels/vector_clones.h"
#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

// A function and its derivative at every element of x.
using RowFunction = void (*)(std::span<const float> x, float* value, float* slope);

void gelu_row(std::span<const float> row, float* values, float* slopes) {
    run_vectorised(
        [](std::span<const float> x, float* value, float* slope) ORRERY_VECTORISED {
            constexpr float kTwiceRoot = 1.5957691216057308f;  // 2 sqrt(2 / pi)
            constexpr float kCubic = 0.044715f;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const float inner = kTwiceRoot * (x[i] + kCubic * x[i] * x[i] * x[i]);
                const float inner_slope = kTwiceRoot * (1.0f + 3.0f * kCubic * x[i] * x[i]);
                const float sigmoid = 1.0f / (1.0f + exponential(-inner));
                value[i] = x[i] * sigmoid;
                slope[i] = sigmoid + value[i] * (1.0f - sigmoid) * inner_slope;
            }
        },
        row,
        values,
        slopes);
}

void silu_row(std::span<const float> row, float* values, float* slopes) {
    run_vectorised(
        [](std::span<const float> x, float* value, float* slope) ORRERY_VECTORISED {
            for (std::size_t i = 0; i < x.size(); ++i) {
                const float sigmoid = 1.0f / (1.0f + exponential(-x[i]));
                value[i] = x[i] * sigmoid;
                slope[i] = sigmoid + value[i] * (1.0f - sigmoid);
            }
        },
        row,
        values,
        slopes);
}

void squared_relu_row(std::span<const float> row, float* values, float* slopes) {
    run_vectorised(
        [](std::span<const float> x, float* value, float* slope) ORRERY_VECTORISED {
            for (std::size_t i = 0; i < x.size(); ++i) {
                const float positive = x[i] > 0.0f ? x[i] : 0.0f;
                value[i] = positive * positive;
                slope[i] = 2.0f * positive;
            }
        },
        row,
        values,
        slopes);
}

RowFunction row_function(Ungated function) {
    return function == Ungated::gelu ? gelu_row : squared_relu_row;
}
RowFunction row_function(Gated function) {
    return function == Gated::swiglu ? silu_row : gelu_row;
}

// Rows of x plus the bias, and the function of their first `ffn` columns.
class ActivatedRows {
public:
    ActivatedRows(RowFunction function,
                  ConstTensorView x,
                  ConstTensorView bias,
                  std::int64_t width,
                  std::int64_t ffn)
        : function_(function),
          x_(x),
          bias_(static_cast<std::size_t>(width), 0.0f),
          row_(bias_.size()),
          value_(static_cast<std::size_t>(ffn)),
          slope_(value_.size()) {
        if (!bias.empty()) {
            load_row(bias, 0, bias_);
        }
    }
    void load_token(std::int64_t token) {
        load_row(x_, token * static_cast<std::int64_t>(row_.size()), row_);
        add_to(row_, bias_);
        function_(std::span{row_}.first(value_.size()), value_.data(), slope_.data());
    }
    std::span<float> row() { return row_; }
    std::span<float> value() { return value_; }
    std::span<float> slope() { return slope_; }
    std::span<float> up() { return std::span{row_}.subspan(value_.size()); }

private:
    RowFunction function_;
    ConstTensorView x_;
    std::vector<float> bias_;
    std::vector<float> row_;
    std::vector<float> value_;
    std::vector<float> slope_;
};

// y *= x
void multiply(std::span<float> y, std::span<const float> x) {
    for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] *= x[i];
    }
}

}  // namespace

void gelu_forward(const ActivationShape& shape,
                  Ungated function,
                  ConstTensorView x,
                  ConstTensorView bias,
                  TensorView y) {
    ActivatedRows rows{row_function(function), x, bias, shape.ffn, shape.ffn};
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        rows.load_token(token);
        store_row(y, token * shape.ffn, rows.value());
    }
}

void gelu_backward(const ActivationShape& shape,
                   Ungated function,
                   ConstTensorView dy,
                   ConstTensorView x,
                   ConstTensorView bias,
                   TensorView dx) {
    ActivatedRows rows{row_function(function), x, bias, shape.ffn, shape.ffn};
    std::vector<float> gradient(static_cast<std::size_t>(shape.ffn));
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        rows.load_token(token);
        load_row(dy, token * shape.ffn, gradient);
        multiply(gradient, rows.slope());
        store_row(dx, token * shape.ffn, gradient);
    }
}

void swiglu_forward(const ActivationShape& shape,
                    Gated function,
                    ConstTensorView x,
                    ConstTensorView bias,
                    TensorView y,
                    bool times_up) {
    ActivatedRows rows{row_function(function), x, bias, 2 * shape.ffn, shape.ffn};
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        rows.load_token(token);
        if (times_up) {
            multiply(rows.value(), rows.up());
        }
        store_row(y, token * shape.ffn, rows.value());
    }
}

void swiglu_backward(const ActivationShape& shape,
                     Gated function,
                     ConstTensorView dy,
                     ConstTensorView x,
                     ConstTensorView bias,
                     TensorView dx,
                     bool times_up) {
    ActivatedRows rows{row_function(function), x, bias, 2 * shape.ffn, shape.ffn};
    std::vector<float> gradient(static_cast<std::size_t>(shape.ffn));
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        rows.load_token(token);
        load_row(dy, token * shape.ffn, gradient);
        if (times_up) {
            multiply(rows.slope(), rows.up());  // d gate = dy up f'(gate)
        }
        multiply(rows.slope(), gradient);
        multiply(rows.value(), gradient);  // d up = dy f(gate)
        store_row(dx, token * 2 * shape.ffn, rows.slope());
        store_row(dx, (token * 2 + 1) * shape.ffn, rows.value());
    }
}

void gate_product(const ActivationShape& shape, ConstTensorView x, TensorView y) {
    const std::int64_t width = y.size / shape.tokens;
    std::vector<float> up(static_cast<std::size_t>(shape.ffn));
    std::vector<float> row(up.size());
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        load_row(x, (token * 2 + 1) * shape.ffn, up);
        load_row(y, token * width, row);
        multiply(row, up);
        store_row(y, token * width, row);
    }
}

}  // namespace orrery::cpu
