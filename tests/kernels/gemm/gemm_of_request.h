// SPDX-License-Identifier: Apache-2.0
// What the CPU's product is asked for where a request of cuBLASLt's asks for the same; not of a
// transposed result.
#pragma once

#include "kernels/gemm/gemm_cpu.h"
#include "kernels/gemm/gemm_layout.h"

namespace orrery {

inline cpu::GemmShape shape_of(const GemmRequest& r) {
    return {.m = r.m,
            .n = r.n,
            .k = r.k,
            .batch = r.batch,
            .transpose_a = r.transpose_a,
            .transpose_b = r.transpose_b,
            .row_stride_a = r.steps_a.row,
            .row_stride_b = r.steps_b.row,
            .row_stride_c = r.steps_c.row,
            .batch_stride_a = r.steps_a.batch,
            .batch_stride_b = r.steps_b.batch,
            .batch_stride_c = r.steps_c.batch};
}

}  // namespace orrery
