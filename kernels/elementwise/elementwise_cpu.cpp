// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/elementwise_cpu.h"

#include <algorithm>
#include <vector>

#include "kernels/vector_math.h"

namespace orrery::cpu {

void reduce_local(std::span<const ConstTensorView> chunks, TensorView sum) {
    constexpr std::int64_t kBlock = 4096;
    ORRERY_CHECK(!chunks.empty());
    std::vector<float> total(static_cast<std::size_t>(std::min(kBlock, sum.size)));
    std::vector<float> next(total.size());
    for (std::int64_t first = 0; first < sum.size; first += kBlock) {
        total.resize(static_cast<std::size_t>(std::min(kBlock, sum.size - first)));
        next.resize(total.size());
        load_row(chunks.front(), first, total);
        for (const ConstTensorView& chunk : chunks.subspan(1)) {
            load_row(chunk, first, next);
            add_to(total, next);
        }
        store_row(sum, first, total);
    }
}

void transpose(std::int64_t rows,
               std::int64_t columns,
               ConstTensorView matrix,
               TensorView transposed) {
    std::vector<float> column(static_cast<std::size_t>(rows));
    for (std::int64_t c = 0; c < columns; ++c) {
        for (std::int64_t r = 0; r < rows; ++r) {
            column[static_cast<std::size_t>(r)] = load(matrix, r * columns + c);
        }
        store_row(transposed, c * rows, column);
    }
}

}  // namespace orrery::cpu
