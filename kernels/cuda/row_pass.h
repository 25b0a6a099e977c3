// SPDX-License-Identifier: Apache-2.0
// Passes over a matrix in which a thread keeps its columns and strides over the rows. Values that
// depend only on the column (a bias) are read once, and no division separates rows from columns.
#pragma once

#include "kernels/cuda/flat.h"

namespace orrery::device {

inline constexpr int kPassThreads = 128;
inline constexpr int kPassWidth = 8;  // elements per thread in a row if 16-byte aligned, else 1

// `vector`: the width is a multiple of kPassWidth, and rows are 16-byte aligned.
inline Geometry row_pass_geometry(std::int64_t rows, std::int64_t columns, bool vector) {
    constexpr std::int64_t kBlocks = 132 * 32;  // several times the threads of an H100
    const std::int64_t per_block = kPassThreads * (vector ? kPassWidth : 1);
    const std::int64_t blocks_x = std::max<std::int64_t>((columns + per_block - 1) / per_block, 1);
    const std::int64_t most = std::clamp<std::int64_t>(kBlocks / blocks_x, 1, 0xFFFF);
    return {.blocks_x = blocks_x, .blocks_y = std::min(rows, most), .threads = kPassThreads};
}
template <class Block>
ORRERY_DEVICE std::int64_t pass_thread(Block& block) {
    return block.x() * kPassThreads + block.thread();
}

inline bool vector_rows(std::int64_t columns, std::initializer_list<ConstTensorView> views) {
    bool vector = columns % kPassWidth == 0;
    for (const ConstTensorView& view : views) {
        vector = vector && aligned(view);
    }
    return vector;
}

// Calls work.operator()<kWidth>(column) with the thread's first column, if it has any.
template <class Block, class Work>
ORRERY_DEVICE void for_own_columns(Block& block,
                                   std::int64_t columns,
                                   bool vector,
                                   const Work& work) {
    const std::int64_t column = pass_thread(block) * (vector ? kPassWidth : 1);
    if (column >= columns) {
        return;
    }
    if (vector) {
        work.template operator()<kPassWidth>(column);
    } else {
        work.template operator()<1>(column);
    }
}

// Calls work.operator()<kCount>(row, step) for this block's rows in order: kCount rows, `step`
// apart, per call. kCount is kAtOnce, and 1 for the last few rows.
template <int kAtOnce, class Block, class Work>
ORRERY_DEVICE void for_own_rows(Block& block, std::int64_t rows, const Work& work) {
    const std::int64_t step = block.blocks_y();
    std::int64_t row = block.y();
    for (; row + (kAtOnce - 1) * step < rows; row += kAtOnce * step) {
        work.template operator()<kAtOnce>(row, step);
    }
    for (; row < rows; row += step) {
        work.template operator()<1>(row, step);
    }
}

}  // namespace orrery::device
