// SPDX-License-Identifier: Apache-2.0
// Products of groups on the CPU (kernels/gemm/grouped_gemm.h). In A and C, the rows of group i
// follow those of group i - 1, and its B is the i-th matrix of B. Every element has the same bits
// as in a product of its group alone (kernels/gemm/gemm_cpu.h).
//
// Rows from several sources have a group for each source and matrix, with the groups of the first
// source first: group i then uses matrix i modulo the number of matrices. The gradient of a matrix
// is the sum of each source's gradient, pairwise in the order of the sources
// (kernels/pairwise_sum.h).
#pragma once

#include <cstdint>
#include <span>

#include "kernels/gemm/gemm_cpu.h"

namespace orrery::cpu {

struct GroupedGemmShape {
    std::span<const std::int64_t> rows;  // of each group
    std::int64_t n = 0;
    std::int64_t k = 0;
    bool transpose_b = false;  // each B is stored [n, k]
    std::int64_t matrices = 0;  // number of matrices in B; 0: one per group
};

// C[sum of rows, n] = A[sum of rows, k] B[group][k, n] (+ C).
void grouped_gemm(const GroupedGemmShape& shape,
                  ConstTensorView a,
                  ConstTensorView b,
                  TensorView c,
                  bool accumulate = false);
// The gradient of the weights: dB[group][k, n] = A[rows, k]^T dC[rows, n] (+ dB); [n, k] with
// transpose_b. A group without rows has gradient zero.
void grouped_gemm_weights(const GroupedGemmShape& shape,
                          ConstTensorView a,
                          ConstTensorView dc,
                          TensorView db,
                          bool accumulate = false);

}  // namespace orrery::cpu
