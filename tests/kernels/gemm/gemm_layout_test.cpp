// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "kernels/gemm/gemm_cpu.h"
#include "tests/kernels/gemm/gemm_of_request.h"
#include "tests/kernels/numeric.h"

namespace orrery {
namespace {

using numeric::Draw;

// What the documentation of cublasLtMatmul says that it computes, on column-major matrices:
// D = op(A) op(B) + beta C, and the bias added to every column.
void slow_lt(const LtGemm& g,
             const std::vector<float>& a,
             const std::vector<float>& b,
             const std::vector<float>& bias,
             std::vector<float>& c) {
    const auto at = [](const LtMatrix& x, std::int64_t row, std::int64_t column, std::int64_t i) {
        EXPECT_LT(row, x.rows);
        EXPECT_LT(column, x.columns);
        return static_cast<std::size_t>(i * x.batch_stride + column * x.stride + row);
    };
    for (std::int64_t i = 0; i < g.batch; ++i) {
        for (std::int64_t column = 0; column < g.n; ++column) {
            for (std::int64_t row = 0; row < g.m; ++row) {
                double sum = 0;
                for (std::int64_t p = 0; p < g.k; ++p) {
                    const std::size_t x = g.transpose_a ? at(g.a, p, row, i) : at(g.a, row, p, i);
                    const std::size_t y =
                        g.transpose_b ? at(g.b, column, p, i) : at(g.b, p, column, i);
                    sum += static_cast<double>(a[x]) * static_cast<double>(b[y]);
                }
                float& d = c[at(g.c, row, column, i)];
                d = static_cast<float>(sum) + g.beta * d;
                d += bias.empty() ? 0.0f : bias[static_cast<std::size_t>(row)];
            }
        }
    }
}

std::vector<float> draw_values(Draw& draw, std::int64_t size) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < size; ++i) {
        values.push_back(static_cast<float>(draw.between(-8, 8)));  // sums are exact
    }
    return values;
}

GemmRequest draw_request(Draw& draw) {
    GemmRequest r{.m = draw.between(1, 9),
                  .n = draw.between(1, 9),
                  .k = draw.between(1, 9),
                  .batch = draw.between(1, 3),
                  .in = Dtype::fp32,
                  .out = Dtype::fp32,
                  .transpose_a = draw.coin(),
                  .transpose_b = draw.coin(),
                  .transpose_c = draw.coin()};
    r.steps_a.batch = r.m * r.k;
    r.steps_b.batch = r.k * r.n;
    r.steps_c.batch = r.m * r.n;
    r.accumulate = draw.coin();
    if (!r.accumulate && !r.transpose_c && draw.coin()) {
        r.epilogue = GemmEpilogue::bias;
    }
    return r;
}

// The CPU's product, with C turned round where it is stored transposed.
void cpu_product(const GemmRequest& r,
                 const std::vector<float>& a,
                 const std::vector<float>& b,
                 const std::vector<float>& bias,
                 std::vector<float>& c) {
    const auto part = [&](const std::vector<float>& x, std::int64_t i) {
        const auto size = static_cast<std::int64_t>(x.size()) / r.batch;
        return slice(const_view_of(x), i * size, size);
    };
    for (std::int64_t i = 0; i < r.batch; ++i) {
        std::vector<float> product(static_cast<std::size_t>(r.m * r.n));
        cpu::gemm({.m = r.m,
                   .n = r.n,
                   .k = r.k,
                   .transpose_a = r.transpose_a,
                   .transpose_b = r.transpose_b},
                  part(a, i),
                  part(b, i),
                  view_of(product),
                  {.bias = bias.empty() ? ConstTensorView{} : const_view_of(bias)});
        for (std::int64_t row = 0; row < r.m; ++row) {
            for (std::int64_t column = 0; column < r.n; ++column) {
                const std::int64_t place = r.transpose_c ? column * r.m + row : row * r.n + column;
                float& to = c[static_cast<std::size_t>(i * r.m * r.n + place)];
                to = product[static_cast<std::size_t>(row * r.n + column)] +
                     (r.accumulate ? to : 0.0f);
            }
        }
    }
}

// Blocks of rows that lie apart are each the product of their rows; what lies between stays.
TEST(LtGemm, BlocksOfRowsAreAProductOfEach) {
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
        Draw draw{seed};
        GemmRequest r = draw_request(draw);
        r.transpose_a = r.transpose_c = false;
        const std::int64_t block_rows = r.m + draw.between(0, 3);
        r.steps_a.batch = block_rows * r.k;
        r.steps_b.batch = 0;
        r.steps_c.batch = block_rows * r.n;
        ASSERT_EQ(why_not_cublaslt(r), "");
        const auto a = draw_values(draw, block_rows * r.k * r.batch);
        const auto b = draw_values(draw, r.k * r.n);
        const auto bias =
            draw_values(draw, r.epilogue == GemmEpilogue::bias ? r.n : std::int64_t{0});
        std::vector<float> expected = draw_values(draw, block_rows * r.n * r.batch);
        std::vector<float> actual = expected;
        GemmRequest one = r;
        one.batch = 1;
        for (std::int64_t i = 0; i < r.batch; ++i) {
            const auto part = [&](auto& x, std::int64_t width) {
                return x.begin() + i * block_rows * width;
            };
            std::vector<float> rows(part(expected, r.n), part(expected, r.n) + r.m * r.n);
            cpu_product(one, {part(a, r.k), part(a, r.k) + r.m * r.k}, b, bias, rows);
            std::ranges::copy(rows, part(expected, r.n));
        }
        slow_lt(lt_gemm(r), b, a, bias, actual);
        EXPECT_EQ(actual, expected) << "seed " << seed;
        EXPECT_EQ(key_of(lt_gemm(r)) == key_of(lt_gemm(one)), r.batch == 1);
    }
}

// Columns of wider rows, as the heads of attention are: each is a product, what lies beside stays.
TEST(LtGemm, NeighbouringColumnsAreAProductOfEach) {
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
        Draw draw{seed};
        GemmRequest r = draw_request(draw);
        r.epilogue = GemmEpilogue::none;
        r.transpose_c = false;
        const std::int64_t width_a = r.transpose_a ? r.m : r.k;
        const std::int64_t width_b = r.transpose_b ? r.k : r.n;
        r.steps_a = {r.batch * width_a + draw.between(0, 3), width_a};
        r.steps_b = {r.batch * width_b + draw.between(0, 3), width_b};
        r.steps_c = {r.batch * r.n + draw.between(0, 3), r.n};
        ASSERT_EQ(why_not_cublaslt(r), "");
        const auto a = draw_values(draw, (r.m + r.k - width_a) * r.steps_a.row);
        const auto b = draw_values(draw, (r.k + r.n - width_b) * r.steps_b.row);
        std::vector<float> expected = draw_values(draw, r.m * r.steps_c.row);
        std::vector<float> actual = expected;
        cpu::gemm(shape_of(r),
                  const_view_of(a),
                  const_view_of(b),
                  view_of(expected),
                  {.accumulate = r.accumulate});
        slow_lt(lt_gemm(r), b, a, {}, actual);
        EXPECT_EQ(actual, expected) << "seed " << seed;
        r.batch = 2;
        r.steps_c = {2 * r.n - 1, r.n};
        EXPECT_EQ(why_not_cublaslt(r).empty(), r.m == 1) << "two results share elements";
    }
}

TEST(LtGemm, ColumnMajorProductIsTheRowMajorOne) {
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        Draw draw{seed};
        const GemmRequest r = draw_request(draw);
        ASSERT_EQ(why_not_cublaslt(r), "");
        const auto a = draw_values(draw, r.m * r.k * r.batch);
        const auto b = draw_values(draw, r.k * r.n * r.batch);
        const auto bias =
            draw_values(draw, r.epilogue == GemmEpilogue::bias ? r.n : std::int64_t{0});
        std::vector<float> expected = draw_values(draw, r.m * r.n * r.batch);
        std::vector<float> actual = expected;
        cpu_product(r, a, b, bias, expected);
        const LtGemm g = lt_gemm(r);
        slow_lt(g, g.first_is_b ? b : a, g.first_is_b ? a : b, bias, actual);
        EXPECT_EQ(actual, expected) << "seed " << seed;
    }
}

// D's rows or columns are our n, and the library sums op(A) or op(B) over k: our B's columns.
TEST(LtGemm, ABiasGradientIsTheSumsOfTheColumnsOfB) {
    GemmRequest r{.m = 5,
                  .n = 7,
                  .k = 9,
                  .transpose_a = true,
                  .epilogue = GemmEpilogue::bias_gradient,
                  .accumulate = true};
    ASSERT_EQ(why_not_cublaslt(r), "");
    EXPECT_TRUE(lt_gemm(r).first_is_b);  // BGRADA
    EXPECT_EQ(lt_gemm(r).m, r.n);
    r.transpose_c = true;
    ASSERT_EQ(why_not_cublaslt(r), "");
    EXPECT_FALSE(lt_gemm(r).first_is_b);  // BGRADB
    EXPECT_EQ(lt_gemm(r).n, r.n);
    r.transpose_b = true;
    EXPECT_NE(why_not_cublaslt(r), "");
}

// Rows of an activation that a forward product reads and writes are never copied or turned.
TEST(LtGemm, DescribesTheStoredMatrices) {
    const LtGemm g = lt_gemm({.m = 512, .n = 2304, .k = 768, .epilogue = GemmEpilogue::bias});
    EXPECT_EQ(g.m, 2304);
    EXPECT_EQ(g.n, 512);
    EXPECT_TRUE(g.first_is_b);
    EXPECT_FALSE(g.transpose_a);
    EXPECT_FALSE(g.transpose_b);
    EXPECT_EQ(g.a.stride, 2304);
    EXPECT_EQ(g.b.stride, 768);
    EXPECT_EQ(g.c.stride, 2304);
    EXPECT_EQ(g.beta, 0.0f);
}

TEST(LtGemm, AccumulationAddsToWhatIsThere) {
    const LtGemm g = lt_gemm({.m = 8,
                              .n = 8,
                              .k = 8,
                              .out = Dtype::fp32,
                              .epilogue = GemmEpilogue::accumulate,
                              .accumulate = true});
    EXPECT_EQ(g.beta, 1.0f);
    EXPECT_EQ(g.epilogue, GemmEpilogue::none);
    EXPECT_EQ(g.c.dtype, Dtype::fp32);
}

TEST(LtGemm, KeysDifferWhereTheProductsDo) {
    std::set<std::string> keys;
    GemmRequest r{.m = 16, .n = 32, .k = 64};
    const auto add = [&] { return keys.insert(key_of(lt_gemm(r))).second; };
    EXPECT_TRUE(add());
    EXPECT_FALSE(add());
    r.transpose_a = true;
    EXPECT_TRUE(add());
    r.transpose_b = true;
    EXPECT_TRUE(add());
    r.accumulate = true;
    EXPECT_TRUE(add());
    r.out = Dtype::fp32;
    EXPECT_TRUE(add());
    r.reserved_sms = 16;
    EXPECT_TRUE(add());
    r.batch = 2;
    r.steps_c.batch = r.m * r.n;
    EXPECT_TRUE(add());
    r.steps_a.row = 128;
    EXPECT_TRUE(add());
    r.alignment = 16;
    EXPECT_TRUE(add());
    r.accumulate = false;
    r.epilogue = GemmEpilogue::bias;
    EXPECT_TRUE(add());
}

TEST(LtGemm, RefusesWhatTheLibraryDoesNotHave) {
    EXPECT_NE(why_not_cublaslt({.m = 1, .n = 1, .k = 1, .in = Dtype::int8}), "");
    EXPECT_NE(why_not_cublaslt(
                  {.m = 1, .n = 1, .k = 1, .transpose_c = true, .epilogue = GemmEpilogue::bias}),
              "");
    EXPECT_NE(why_not_cublaslt(
                  {.m = 1, .n = 1, .k = 1, .epilogue = GemmEpilogue::gelu, .accumulate = true}),
              "");
    EXPECT_NE(why_not_cublaslt({.m = 0, .n = 1, .k = 1}), "");
}

}  // namespace
}  // namespace orrery
