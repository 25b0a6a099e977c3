// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast/cast_cpu.h"

#include <algorithm>
#include <vector>

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

}  // namespace orrery::cpu
