// SPDX-License-Identifier: Apache-2.0
// Column sums in two stages without atomics: partial sums of some rows each in fp32 [parts,
// columns], then the partial sums in order, added to the gradient.
#pragma once

#include "kernels/cuda/flat.h"

namespace orrery::device {

// gradient[columns] += the sums of the columns of partial[parts, columns]. A warp has 32
// neighbouring columns of every kWarps-th part; the warps' sums are added in order.
struct ColumnSumKernel {
    static constexpr int kWarps = 16;
    static constexpr int kAtOnce = 8;  // loads of a thread in flight
    static constexpr int kThreadsMax = kWarps * kWarp;
    const float* partial;
    std::int64_t parts;
    std::int64_t columns;
    Elements gradient;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        auto* sums = reinterpret_cast<float*>(block.shared());
        const std::int64_t column = block.x() * kWarp + block.lane();
        float sum = 0.0f;
        if (column < columns) {
            std::int64_t part = block.warp();
            for (; part + (kAtOnce - 1) * kWarps < parts; part += kAtOnce * kWarps) {
                float values[kAtOnce];
                ORRERY_UNROLL
                for (int i = 0; i < kAtOnce; ++i) {
                    values[i] = partial[(part + i * kWarps) * columns + column];
                }
                ORRERY_UNROLL
                for (int i = 0; i < kAtOnce; ++i) {
                    sum += values[i];
                }
            }
            for (; part < parts; part += kWarps) {
                sum += partial[part * columns + column];
            }
        }
        sums[block.thread()] = sum;
        block.sync();
        if (block.warp() == 0 && column < columns) {
            for (int warp = 1; warp < kWarps; ++warp) {
                sum += sums[warp * kWarp + block.lane()];
            }
            gradient.set(column, gradient.at(column) + sum);
        }
    }
    Geometry geometry() const {
        return {.blocks_x = (columns + kWarp - 1) / kWarp,
                .threads = kThreadsMax,
                .shared_bytes = kThreadsMax * 4};
    }
};

}  // namespace orrery::device
