// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/unfused_attention_cpu.h"

#include "kernels/gemm/gemm_cpu.h"

namespace orrery::cpu {

void multiply_heads(const HeadProduct& product) {
    for (const HeadBatch& batch : head_batches(product)) {
        gemm({.m = product.m,
              .n = product.n,
              .k = product.k,
              .batch = batch.count,
              .transpose_a = product.transpose_x,
              .transpose_b = product.transpose_y,
              .row_stride_a = product.steps_x.row,
              .row_stride_b = product.steps_y.row,
              .row_stride_c = product.steps_result.row,
              .batch_stride_a = batch.step_x,
              .batch_stride_b = batch.step_y,
              .batch_stride_c = batch.step_result},
             batch.x,
             batch.y,
             batch.result,
             {.accumulate = batch.accumulate});
    }
}

}  // namespace orrery::cpu
