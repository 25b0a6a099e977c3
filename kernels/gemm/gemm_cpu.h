// SPDX-License-Identifier: Apache-2.0
// Matrix product on the CPU: C[m, n] = alpha op(A)[m, k] op(B)[k, n] (+ C) (+ bias[n]), `batch`
// times. All matrices are row-major. A, B, C and bias are each fp32 or bf16. Inputs are widened to
// fp32 in packed blocks, and products are summed in fp32 and rounded once, when C is written. Every
// element is summed one product after the other with k ascending, whatever m, n, the leading
// dimensions or the machine. Results are therefore equal bit by bit between runs, and a rank with
// some rows or columns of C gets the same bits as a rank with all of them.
#pragma once

#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct GemmShape {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t batch = 1;
    bool transpose_a = false;  // A is stored [k, m]
    bool transpose_b = false;  // B is stored [n, k]
    // Elements from one stored row to the next; 0: rows are contiguous.
    std::int64_t row_stride_a = 0;
    std::int64_t row_stride_b = 0;
    std::int64_t row_stride_c = 0;
    // Elements from one matrix of the batch to the next; used only if batch > 1.
    std::int64_t batch_stride_a = 0;
    std::int64_t batch_stride_b = 0;
    std::int64_t batch_stride_c = 0;
};

struct GemmEpilogueArguments {
    float alpha = 1.0f;
    bool accumulate = false;  // add to C (beta = 1)
    ConstTensorView bias{};   // [n], added to every row; empty: none
};

// C must not overlap A or B.
void gemm(const GemmShape& shape,
          ConstTensorView a,
          ConstTensorView b,
          TensorView c,
          const GemmEpilogueArguments& epilogue = {});

}  // namespace orrery::cpu
