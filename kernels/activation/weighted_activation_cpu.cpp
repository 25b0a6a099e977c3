// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/weighted_activation_cpu.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/activation/activation_kernels.h"
#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

constexpr std::int64_t kRowsAtOnce = 32;  // rows whose fp32 results fit into the cache

void plain_forward(const WeightedActivation& shape,
                   std::int64_t rows,
                   ConstTensorView x,
                   TensorView y) {
    const ActivationShape plain{.tokens = rows, .ffn = shape.ffn};
    if (shape.gated) {
        swiglu_forward(plain, shape.variant ? Gated::geglu : Gated::swiglu, x, {}, y);
    } else {
        gelu_forward(plain, shape.variant ? Ungated::squared_relu : Ungated::gelu, x, {}, y);
    }
}

void plain_backward(const WeightedActivation& shape,
                    std::int64_t rows,
                    ConstTensorView dy,
                    ConstTensorView x,
                    TensorView dx) {
    const ActivationShape plain{.tokens = rows, .ffn = shape.ffn};
    if (shape.gated) {
        swiglu_backward(plain, shape.variant ? Gated::geglu : Gated::swiglu, dy, x, {}, dx);
    } else {
        gelu_backward(plain, shape.variant ? Ungated::squared_relu : Ungated::gelu, dy, x, {}, dx);
    }
}

// A block of rows with fp32 buffers.
class RowBlock {
public:
    explicit RowBlock(const WeightedActivation& shape)
        : shape_(shape), y_(static_cast<std::size_t>(kRowsAtOnce * shape.ffn)), dy_(y_.size()) {}

    void move_to(std::int64_t first) {
        first_ = first;
        rows_ = std::min(kRowsAtOnce, shape_.rows - first);
    }
    std::int64_t rows() const { return rows_; }
    std::int64_t place(std::int64_t row) const { return (first_ + row) * shape_.ffn; }
    std::span<float> y(std::int64_t row) { return row_of(y_, row); }
    std::span<float> dy(std::int64_t row) { return row_of(dy_, row); }
    TensorView all_y() { return slice(view_of(std::span{y_}), 0, rows_ * shape_.ffn); }
    TensorView all_dy() { return slice(view_of(std::span{dy_}), 0, rows_ * shape_.ffn); }
    template <class View>
    View x(View all) const {
        const std::int64_t width = shape_.ffn * (shape_.gated ? 2 : 1);
        return slice(all, first_ * width, rows_ * width);
    }

private:
    std::span<float> row_of(std::vector<float>& of, std::int64_t row) const {
        return std::span{of}.subspan(static_cast<std::size_t>(row * shape_.ffn),
                                     static_cast<std::size_t>(shape_.ffn));
    }

    const WeightedActivation& shape_;
    std::int64_t first_ = 0;
    std::int64_t rows_ = 0;
    std::vector<float> y_;
    std::vector<float> dy_;
};

void scale(std::span<float> row, float factor) {
    for (float& value : row) {
        value *= factor;
    }
}

}  // namespace

void weighted_forward(const WeightedActivation& shape,
                      ConstTensorView x,
                      ConstTensorView weights,
                      TensorView y) {
    RowBlock block{shape};
    for (std::int64_t first = 0; first < shape.rows; first += kRowsAtOnce) {
        block.move_to(first);
        plain_forward(shape, block.rows(), block.x(x), block.all_y());
        for (std::int64_t r = 0; r < block.rows(); ++r) {
            scale(block.y(r), load(weights, first + r));
            store_row(y, block.place(r), block.y(r));
        }
    }
}

void weighted_backward(const WeightedActivation& shape,
                       ConstTensorView dy,
                       ConstTensorView x,
                       ConstTensorView weights,
                       TensorView dx,
                       TensorView dweights) {
    RowBlock block{shape};
    for (std::int64_t first = 0; first < shape.rows; first += kRowsAtOnce) {
        block.move_to(first);
        plain_forward(shape, block.rows(), block.x(x), block.all_y());
        for (std::int64_t r = 0; r < block.rows(); ++r) {
            load_row(dy, block.place(r), block.dy(r));
            store(dweights, first + r, dot(block.y(r), block.dy(r)));
            scale(block.dy(r), load(weights, first + r));
        }
        plain_backward(shape, block.rows(), block.all_dy(), block.x(x), block.x(dx));
    }
}

}  // namespace orrery::cpu

namespace orrery::kernel {

bool run_weighted(const KernelArguments& op, bool gated, bool forward) {
    const std::size_t x = forward ? 0 : 1;
    if (op.reads.size() != x + 3) {
        return false;
    }
    const std::span<const std::int32_t> counts = ids(op.reads[x + 2].view);
    const cpu::WeightedActivation shape{
        .rows = std::accumulate(counts.begin(), counts.end(), std::int64_t{0}),
        .ffn = op.call.dims[1],
        .gated = gated,
        .variant = op.call.variant == 1};
    const TensorView weights = op.reads[x + 1].view;
    if (forward) {
        cpu::weighted_forward(shape, op.reads[x].view, weights, op.writes[0].view);
    } else {
        cpu::weighted_backward(shape,
                               op.reads[0].view,
                               op.reads[x].view,
                               weights,
                               op.writes[0].view,
                               op.writes[1].view);
    }
    return true;
}

}  // namespace orrery::kernel
