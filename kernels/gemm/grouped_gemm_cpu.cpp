// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/grouped_gemm_cpu.h"

#include <cstring>
#include <vector>

#include "engine/base/check.h"
#include "kernels/pairwise_sum.h"

namespace orrery::cpu {
namespace {

std::int64_t matrices_of(const GroupedGemmShape& shape) {
    const auto groups = static_cast<std::int64_t>(shape.rows.size());
    const std::int64_t matrices = shape.matrices > 0 ? shape.matrices : groups;
    ORRERY_CHECK(groups == 0 || groups % matrices == 0);
    return matrices;
}

// The first row of each group.
std::vector<std::int64_t> firsts_of(const GroupedGemmShape& shape) {
    std::vector<std::int64_t> firsts;
    std::int64_t first = 0;
    for (const std::int64_t rows : shape.rows) {
        ORRERY_CHECK(rows >= 0);
        firsts.push_back(first);
        first += rows;
    }
    return firsts;
}

// The gradients of one matrix.
class WeightProducts {
public:
    WeightProducts(const GroupedGemmShape& shape, ConstTensorView a, ConstTensorView dc)
        : shape_(shape), a_(a), dc_(dc), firsts_(firsts_of(shape)) {}

    void product(std::size_t group, TensorView out, bool accumulate) const {
        const std::int64_t rows = shape_.rows[group];
        const ConstTensorView left = slice(a_, firsts_[group] * shape_.k, rows * shape_.k);
        const ConstTensorView right = slice(dc_, firsts_[group] * shape_.n, rows * shape_.n);
        const bool turned = shape_.transpose_b;
        gemm({.m = turned ? shape_.n : shape_.k,
              .n = turned ? shape_.k : shape_.n,
              .k = rows,
              .transpose_a = true},
             turned ? right : left,
             turned ? left : right,
             out,
             {.accumulate = accumulate});
    }

    // Sums over the sources in fp32; adds to `out` with `accumulate`, else overwrites it.
    void sum(std::int64_t matrix, std::int64_t matrices, TensorView out, bool accumulate) {
        const auto sources = static_cast<std::int64_t>(shape_.rows.size()) / matrices;
        if (sources == 1) {
            return product(static_cast<std::size_t>(matrix), out, accumulate);
        }
        PairwiseSum all{static_cast<std::size_t>(out.size)};
        for (std::int64_t source = 0; source < sources; ++source) {
            product(
                static_cast<std::size_t>(source * matrices + matrix), view_of(all.next()), false);
            all.add_next();
        }
        const std::span<float> total = all.total();
        if (accumulate) {
            before_.resize(total.size());
            load_row(out, 0, before_);
            for (std::size_t i = 0; i < total.size(); ++i) {
                total[i] = before_[i] + total[i];
            }
        }
        store_row(out, 0, total);
    }

private:
    const GroupedGemmShape& shape_;
    ConstTensorView a_;
    ConstTensorView dc_;
    std::vector<std::int64_t> firsts_;
    std::vector<float> before_;
};

}  // namespace

void grouped_gemm(const GroupedGemmShape& shape,
                  ConstTensorView a,
                  ConstTensorView b,
                  TensorView c,
                  bool accumulate) {
    const std::int64_t matrices = matrices_of(shape);
    const std::vector<std::int64_t> firsts = firsts_of(shape);
    const std::int64_t weights = shape.k * shape.n;
    for (std::size_t group = 0; group < shape.rows.size(); ++group) {
        const std::int64_t rows = shape.rows[group];
        if (rows > 0) {
            const std::int64_t matrix = static_cast<std::int64_t>(group) % matrices;
            gemm({.m = rows, .n = shape.n, .k = shape.k, .transpose_b = shape.transpose_b},
                 slice(a, firsts[group] * shape.k, rows * shape.k),
                 slice(b, matrix * weights, weights),
                 slice(c, firsts[group] * shape.n, rows * shape.n),
                 {.accumulate = accumulate});
        }
    }
}

void grouped_gemm_weights(const GroupedGemmShape& shape,
                          ConstTensorView a,
                          ConstTensorView dc,
                          TensorView db,
                          bool accumulate) {
    const std::int64_t matrices = matrices_of(shape);
    const std::int64_t weights = shape.k * shape.n;
    WeightProducts products{shape, a, dc};
    for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
        products.sum(matrix, matrices, slice(db, matrix * weights, weights), accumulate);
    }
}

}  // namespace orrery::cpu
