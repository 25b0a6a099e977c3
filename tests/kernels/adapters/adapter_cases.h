// SPDX-License-Identifier: Apache-2.0
// Drawn products with adapters, and what they are in float64.
#pragma once

#include "kernels/adapters/adapters_cpu.h"
#include "tests/kernels/numeric.h"

namespace orrery::numeric {

struct AdapterCase {
    cpu::AdapterShape shape;
    std::vector<std::int32_t> numbers;
    Tensor x;
    Tensor a;
    Tensor b;
    Tensor y;

    AdapterCase(std::uint64_t seed, Dtype dtype) : AdapterCase(Draw{seed}, dtype) {}

    cpu::AdapterOperands operands(Tensor& into) const {
        return {.x = x.view(),
                .numbers = view_of(std::span<const std::int32_t>{numbers}),
                .a = a.view(),
                .b = b.view(),
                .y = into.view()};
    }

    Doubles expected() const {
        Doubles result = y.doubles();
        for (std::int64_t row = 0; row < shape.rows; ++row) {
            const std::int64_t number = numbers[static_cast<std::size_t>(row)];
            for (std::int64_t i = 0; number >= 0 && i < shape.rank; ++i) {
                const std::int64_t place = number * shape.rank + i;
                double inner = 0;
                for (std::int64_t j = 0; j < shape.k; ++j) {
                    inner += x.at(row * shape.k + j) * a.at(place * shape.k + j);
                }
                for (std::int64_t j = 0; j < shape.n; ++j) {
                    result[static_cast<std::size_t>(row * shape.n + j)] +=
                        inner * b.at(place * shape.n + j);
                }
            }
        }
        return result;
    }

private:
    AdapterCase(Draw draw, Dtype dtype)
        : shape{.rows = draw.between(1, 9),
                .k = draw.coin() ? 8 * draw.between(1, 40) : draw.between(1, 70),
                .n = draw.coin() ? 8 * draw.between(1, 40) : draw.between(1, 70),
                .rank = draw.between(1, 9),
                .adapters = draw.between(1, 4)},
          numbers(draw.ids(shape.rows, -1, shape.adapters - 1)),
          x(draw.tensor(shape.rows * shape.k, dtype)),
          a(draw.tensor(shape.adapters * shape.rank * shape.k, dtype)),
          b(draw.tensor(shape.adapters * shape.rank * shape.n, dtype)),
          y(draw.tensor(shape.rows * shape.n, dtype)) {}
};

}  // namespace orrery::numeric
