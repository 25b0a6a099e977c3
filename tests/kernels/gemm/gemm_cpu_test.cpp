// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm_cpu.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

struct GemmCase {
    GemmShape shape;
    Dtype in = Dtype::fp32;
    Dtype out = Dtype::fp32;
    bool accumulate = false;
    bool bias = false;
    float alpha = 1.0f;
};

std::int64_t stored_rows_a(const GemmShape& s) {
    return s.transpose_a ? s.k : s.m;
}
std::int64_t stored_rows_b(const GemmShape& s) {
    return s.transpose_b ? s.n : s.k;
}

GemmCase draw_gemm_case(Draw& draw, std::int64_t most) {
    GemmCase c;
    GemmShape& s = c.shape;
    s.m = draw.between(1, most);
    s.n = draw.between(1, most);
    s.k = draw.between(1, 2 * most);
    s.batch = draw.between(1, 3);
    s.transpose_a = draw.coin();
    s.transpose_b = draw.coin();
    s.row_stride_a = (s.transpose_a ? s.m : s.k) + draw.between(0, 5);
    s.row_stride_b = (s.transpose_b ? s.k : s.n) + draw.between(0, 5);
    s.row_stride_c = s.n + draw.between(0, 5);
    s.batch_stride_a = stored_rows_a(s) * s.row_stride_a + draw.between(0, 9);
    s.batch_stride_b = draw.coin() ? 0 : stored_rows_b(s) * s.row_stride_b;
    s.batch_stride_c = s.m * s.row_stride_c + draw.between(0, 9);
    c.in = draw.coin() ? Dtype::fp32 : Dtype::bf16;
    c.out = draw.coin() ? Dtype::fp32 : Dtype::bf16;
    c.accumulate = draw.coin();
    c.bias = draw.coin();
    c.alpha = draw.coin() ? 1.0f : 0.25f;
    return c;
}

// Element by element, on a copy of C: what lies between the rows stays.
Doubles slow_gemm(
    const GemmCase& c, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& before) {
    const GemmShape& s = c.shape;
    Doubles result = before.doubles();
    for (std::int64_t x = 0; x < s.batch; ++x) {
        for (std::int64_t i = 0; i < s.m; ++i) {
            for (std::int64_t j = 0; j < s.n; ++j) {
                double sum = 0;
                for (std::int64_t p = 0; p < s.k; ++p) {
                    const std::int64_t ia =
                        s.transpose_a ? p * s.row_stride_a + i : i * s.row_stride_a + p;
                    const std::int64_t ib =
                        s.transpose_b ? j * s.row_stride_b + p : p * s.row_stride_b + j;
                    sum += a.at(x * s.batch_stride_a + ia) * b.at(x * s.batch_stride_b + ib);
                }
                const std::int64_t at = x * s.batch_stride_c + i * s.row_stride_c + j;
                result[static_cast<std::size_t>(at)] = static_cast<double>(c.alpha) * sum +
                                                       (c.bias ? bias.at(j) : 0.0) +
                                                       (c.accumulate ? before.at(at) : 0.0);
            }
        }
    }
    return result;
}

void check_case(Draw& draw, const GemmCase& c) {
    const GemmShape& s = c.shape;
    const Tensor a = draw.tensor(s.batch * s.batch_stride_a, c.in);
    const Tensor b =
        draw.tensor((s.batch - 1) * s.batch_stride_b + stored_rows_b(s) * s.row_stride_b, c.in);
    const Tensor bias = draw.tensor(s.n, c.out);
    Tensor result = draw.tensor(s.batch * s.batch_stride_c, c.out);
    const Doubles expected = slow_gemm(c, a, b, bias, result);
    gemm(s,
         a.view(),
         b.view(),
         result.view(),
         {.alpha = c.alpha,
          .accumulate = c.accumulate,
          .bias = c.bias ? bias.view() : ConstTensorView{}});
    EXPECT_LT(numeric::relative_error(result, expected), numeric::tolerance(c.out))
        << s.m << " x " << s.n << " x " << s.k << " of " << name(c.in) << " to " << name(c.out);
}

TEST(GemmCpu, EqualsFloat64ForDrawnShapes) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        check_case(draw, draw_gemm_case(draw, 24));
    }
}

TEST(GemmCpu, EqualsFloat64AcrossItsBlocks) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        GemmCase c = draw_gemm_case(draw, 24);
        (seed == 1 ? c.shape.m : seed == 2 ? c.shape.n : c.shape.k) = 530;
        c.shape.batch = 1;
        c.shape.row_stride_a = c.shape.transpose_a ? c.shape.m : c.shape.k;
        c.shape.row_stride_b = c.shape.transpose_b ? c.shape.k : c.shape.n;
        c.shape.row_stride_c = c.shape.n;
        c.shape.batch_stride_a = c.shape.m * c.shape.k;
        c.shape.batch_stride_c = c.shape.m * c.shape.n;
        check_case(draw, c);
    }
}

TEST(GemmCpu, AddsProductsInOneOrder) {
    Draw draw{8};
    constexpr std::int64_t k = 777;
    const Tensor a = draw.tensor(5 * k, Dtype::fp32);
    const Tensor b = draw.tensor(k * 3, Dtype::fp32);
    Tensor c{15, Dtype::fp32};
    gemm({.m = 5, .n = 3, .k = k}, a.view(), b.view(), c.view());
    for (std::int64_t i = 0; i < 15; ++i) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
            sum += load(a.view(), i / 3 * k + p) * load(b.view(), p * 3 + i % 3);
        }
        EXPECT_EQ(load(c.view(), i), sum);
    }
}

// Operands that are bf16 numbers give the same bits from either type.
TEST(GemmCpu, SumsBf16OperandsInFp32) {
    Draw draw{5};
    const Tensor a = draw.tensor(8 * 700, Dtype::bf16);
    const Tensor b = draw.tensor(700 * 9, Dtype::bf16);
    Tensor wide_a{a.size(), Dtype::fp32};
    Tensor wide_b{b.size(), Dtype::fp32};
    for (std::int64_t i = 0; i < a.size(); ++i) {
        store(wide_a.view(), i, load(a.view(), i));
    }
    for (std::int64_t i = 0; i < b.size(); ++i) {
        store(wide_b.view(), i, load(b.view(), i));
    }
    const GemmShape shape{.m = 8, .n = 9, .k = 700};
    Tensor c{72, Dtype::fp32};
    Tensor wide_c{72, Dtype::fp32};
    gemm(shape, a.view(), b.view(), c.view());
    gemm(shape, wide_a.view(), wide_b.view(), wide_c.view());
    EXPECT_EQ(c, wide_c);
}

// A rank with some rows or columns of C gets the bits of the rank that has all.
TEST(GemmCpu, BitsDoNotDependOnWhichPartOfTheResultIsComputed) {
    Draw draw{6};
    constexpr std::int64_t m = 67;
    constexpr std::int64_t n = 53;
    constexpr std::int64_t k = 600;
    const Tensor a = draw.tensor(m * k, Dtype::fp32);
    const Tensor b = draw.tensor(k * n, Dtype::fp32);
    Tensor whole{m * n, Dtype::fp32};
    gemm({.m = m, .n = n, .k = k}, a.view(), b.view(), whole.view());
    Tensor parts{m * n, Dtype::fp32};
    constexpr std::int64_t row = 29;
    constexpr std::int64_t column = 17;
    for (const bool lower : {false, true}) {
        for (const bool right : {false, true}) {
            const std::int64_t i = lower ? row : 0;
            const std::int64_t j = right ? column : 0;
            gemm({.m = lower ? m - row : row,
                  .n = right ? n - column : column,
                  .k = k,
                  .row_stride_b = n,
                  .row_stride_c = n},
                 slice(a.view(), i * k, (m - i) * k),
                 slice(b.view(), j, k * n - j),
                 slice(parts.view(), i * n + j, m * n - i * n - j));
        }
    }
    EXPECT_EQ(whole, parts);
}

TEST(GemmCpu, OfNoDepthIsTheBias) {
    Draw draw{7};
    const Tensor bias = draw.tensor(3, Dtype::fp32);
    Tensor c = draw.tensor(6, Dtype::fp32);
    gemm({.m = 2, .n = 3, .k = 0}, {}, {}, c.view(), {.bias = bias.view()});
    for (std::int64_t i = 0; i < 6; ++i) {
        EXPECT_EQ(c.at(i), bias.at(i % 3));
    }
}

}  // namespace
}  // namespace orrery::cpu
