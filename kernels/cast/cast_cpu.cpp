// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast/cast_cpu.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/elementwise/elementwise_cpu.h"

namespace orrery::cpu {

void cast(ConstTensorView from, TensorView to) {
    constexpr std::int64_t kChunk = 4096;
    std::vector<float> chunk(static_cast<std::size_t>(std::min(kChunk, to.size)));
    for (std::int64_t first = 0; first < to.size; first += kChunk) {
        chunk.resize(static_cast<std::size_t>(std::min(kChunk, to.size - first)));
        load_row(from, first, chunk);
        store_row(to, first, chunk);
    }
}

void cast_transpose(std::int64_t rows,
                    std::int64_t columns,
                    ConstTensorView from,
                    TensorView to,
                    TensorView transposed) {
    cast(from, slice(to, 0, rows * columns));
    transpose(rows, columns, from, transposed);
}

float largest_magnitude(ConstTensorView x) {
    float largest = 0;
    for (std::int64_t i = 0; i < x.size; ++i) {
        largest = std::max(largest, std::fabs(load(x, i)));
    }
    return largest;
}

}  // namespace orrery::cpu
