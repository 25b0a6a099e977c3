// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/grouped_gemm_cpu.h"

#include <cstring>

#include "engine/check.h"

namespace orrery::cpu {

void grouped_gemm(const GroupedGemmShape& shape,
                  ConstTensorView a,
                  ConstTensorView b,
                  TensorView c,
                  bool accumulate) {
    std::int64_t first = 0;
    for (std::size_t group = 0; group < shape.rows.size(); ++group) {
        const std::int64_t rows = shape.rows[group];
        ORRERY_CHECK(rows >= 0);
        if (rows == 0) {
            continue;
        }
        const std::int64_t weights = shape.k * shape.n;
        gemm({.m = rows, .n = shape.n, .k = shape.k, .transpose_b = shape.transpose_b},
             slice(a, first * shape.k, rows * shape.k),
             slice(b, static_cast<std::int64_t>(group) * weights, weights),
             slice(c, first * shape.n, rows * shape.n),
             {.accumulate = accumulate});
        first += rows;
    }
}

void grouped_gemm_weights(const GroupedGemmShape& shape,
                          ConstTensorView a,
                          ConstTensorView dc,
                          TensorView db,
                          bool accumulate) {
    std::int64_t first = 0;
    const std::int64_t weights = shape.k * shape.n;
    for (std::size_t group = 0; group < shape.rows.size(); ++group) {
        const std::int64_t rows = shape.rows[group];
        ORRERY_CHECK(rows >= 0);
        const TensorView out = slice(db, static_cast<std::int64_t>(group) * weights, weights);
        if (rows == 0) {
            if (!accumulate) {
                std::memset(out.data, 0, static_cast<std::size_t>(weights * size_bytes(out.dtype)));
            }
            continue;
        }
        const ConstTensorView left = slice(a, first * shape.k, rows * shape.k);
        const ConstTensorView right = slice(dc, first * shape.n, rows * shape.n);
        const bool turned = shape.transpose_b;
        gemm({.m = turned ? shape.n : shape.k,
              .n = turned ? shape.k : shape.n,
              .k = rows,
              .transpose_a = true},
             turned ? right : left,
             turned ? left : right,
             out,
             {.accumulate = accumulate});
        first += rows;
    }
}

}  // namespace orrery::cpu
