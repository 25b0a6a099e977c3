// SPDX-License-Identifier: Apache-2.0
// Blocked as in Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (ACM
// TOMS 2008). Panels of A and B are packed as fp32 in the order in which the innermost product
// reads them. A tile of C stays in registers over a block of k, and in cache over all of k.
#include "kernels/gemm/gemm_cpu.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/vector_clones.h"

namespace orrery::cpu {
namespace {

constexpr std::int64_t kTileRows = 6;
constexpr std::int64_t kTileColumns = 16;
constexpr std::int64_t kBlockRows = 40 * kTileRows;  // 240 x 256 of A: 240 KiB
constexpr std::int64_t kBlockColumns = 32 * kTileColumns;
constexpr std::int64_t kBlockDepth = 256;

using Buffer = std::unique_ptr<float[]>;

// op(A) or op(B)^T: element (i, p) with i along m or n, and p along k.
struct Operand {
    ConstTensorView tensor;
    std::int64_t first = 0;
    std::int64_t step = 0;        // from i to i + 1
    std::int64_t depth_step = 0;  // from p to p + 1
};

struct Range {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

std::int64_t padded(std::int64_t count, std::int64_t tile) {
    return (count + tile - 1) / tile * tile;
}

inline float widen(float value) {
    return value;
}
inline float widen(std::uint16_t bits) {
    return float_of_bf16(bits);
}

// Packs out[panel][p][lane]: panels of `tile` values of i, with zeros beyond the range.
template <class Element, std::int64_t tile>
void pack_panels(const Operand& x, Range range, Range depth, float* out) {
    const auto* base = reinterpret_cast<const Element*>(x.tensor.data) + x.first +
                       range.first * x.step + depth.first * x.depth_step;
    for (std::int64_t i = 0; i < range.count; i += tile) {
        const std::int64_t lanes = std::min(tile, range.count - i);
        if (lanes < tile) {
            std::fill_n(out, tile * depth.count, 0.0f);
        }
        const Element* panel = base + i * x.step;
        if (x.step == 1 && lanes == tile) {  // contiguous in memory: this form vectorises
            for (std::int64_t p = 0; p < depth.count; ++p) {
                for (std::int64_t lane = 0; lane < tile; ++lane) {
                    out[p * tile + lane] = widen(panel[p * x.depth_step + lane]);
                }
            }
        } else {
            for (std::int64_t p = 0; p < depth.count; ++p) {
                for (std::int64_t lane = 0; lane < lanes; ++lane) {
                    out[p * tile + lane] = widen(panel[p * x.depth_step + lane * x.step]);
                }
            }
        }
        out += tile * depth.count;
    }
}

template <std::int64_t tile>
void pack(const Operand& x, Range range, Range depth, float* out) {
    if (x.tensor.dtype == Dtype::bf16) {
        pack_panels<std::uint16_t, tile>(x, range, depth, out);
    } else {
        pack_panels<float, tile>(x, range, depth, out);
    }
}

// c[6][16] += a[depth][6]^T b[depth][16]; `stride` is the distance of c's rows.
using GemmTile =
    void (*)(std::int64_t depth, const float* a, const float* b, float* c, std::int64_t stride);

// A GemmTile with registers of `width` floats, `count` of them a row. With six rows the sums stay
// in registers (16 of them, 32 with AVX-512). It is a macro because g++ splits a vector type into
// the registers of the function that contains it, before it inlines or clones. The sums of a wider
// type would then be in memory.
#define ORRERY_GEMM_TILE(name, target, width, count)                                              \
    target void name(                                                                             \
        std::int64_t depth, const float* a, const float* b, float* c, std::int64_t stride) {      \
        using Vector = float __attribute__((vector_size((width) * sizeof(float))));               \
        for (std::int64_t first = 0; first < kTileColumns; first += (width) * (count)) {          \
            Vector rows[kTileRows][count];                                                        \
            for (std::int64_t r = 0; r < kTileRows; ++r) {                                        \
                for (std::int64_t v = 0; v < (count); ++v) {                                      \
                    std::memcpy(                                                                  \
                        &rows[r][v], c + r * stride + first + v * (width), sizeof(Vector));       \
                }                                                                                 \
            }                                                                                     \
            for (std::int64_t p = 0; p < depth; ++p) {                                            \
                Vector columns[count];                                                            \
                for (std::int64_t v = 0; v < (count); ++v) {                                      \
                    std::memcpy(                                                                  \
                        &columns[v], b + p * kTileColumns + first + v * (width), sizeof(Vector)); \
                }                                                                                 \
                for (std::int64_t r = 0; r < kTileRows; ++r) {                                    \
                    for (std::int64_t v = 0; v < (count); ++v) {                                  \
                        rows[r][v] += a[p * kTileRows + r] * columns[v];                          \
                    }                                                                             \
                }                                                                                 \
            }                                                                                     \
            for (std::int64_t r = 0; r < kTileRows; ++r) {                                        \
                for (std::int64_t v = 0; v < (count); ++v) {                                      \
                    std::memcpy(                                                                  \
                        c + r * stride + first + v * (width), &rows[r][v], sizeof(Vector));       \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }

ORRERY_GEMM_TILE(gemm_tile_baseline, , 4, 2)
ORRERY_GEMM_TILE(gemm_tile_avx2, ORRERY_TARGET_AVX2, 8, 2)
ORRERY_GEMM_TILE(gemm_tile_avx512, ORRERY_TARGET_AVX512, 16, 1)
#undef ORRERY_GEMM_TILE

GemmTile gemm_tile() {
    switch (vector_clone()) {
        case VectorClone::avx512:
            return gemm_tile_avx512;
        case VectorClone::avx2:
            return gemm_tile_avx2;
        case VectorClone::baseline:
            break;
    }
    return gemm_tile_baseline;
}

class BlockProduct {
public:
    BlockProduct(const GemmShape& shape, Operand a, Operand b)
        : depth_(shape.k),
          a_(a),
          b_(b),
          stride_(padded(std::min(shape.n, kBlockColumns), kTileColumns)),
          rows_max_(padded(std::min(shape.m, kBlockRows), kTileRows)),
          packed_a_(buffer(rows_max_ * std::min(depth_, kBlockDepth))),
          packed_b_(buffer(stride_ * std::min(depth_, kBlockDepth))),
          result_(buffer(rows_max_ * stride_)) {}

    // Computes op(A) op(B) for these rows and columns; row(i) is row i of the result.
    void run(Range rows, Range columns) {
        std::fill_n(result_.get(), rows_max_ * stride_, 0.0f);
        for (std::int64_t p = 0; p < depth_; p += kBlockDepth) {
            const Range depth{p, std::min(kBlockDepth, depth_ - p)};
            pack<kTileRows>(a_, rows, depth, packed_a_.get());
            pack<kTileColumns>(b_, columns, depth, packed_b_.get());
            for (std::int64_t j = 0; j < columns.count; j += kTileColumns) {
                for (std::int64_t i = 0; i < rows.count; i += kTileRows) {
                    tile_(depth.count,
                          packed_a_.get() + i * depth.count,
                          packed_b_.get() + j * depth.count,
                          result_.get() + i * stride_ + j,
                          stride_);
                }
            }
        }
    }
    float* row(std::int64_t i) { return result_.get() + i * stride_; }
    void move_to(std::int64_t first_a, std::int64_t first_b) {
        a_.first = first_a;
        b_.first = first_b;
    }

private:
    static Buffer buffer(std::int64_t size) {
        return std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(size));
    }

    GemmTile tile_ = gemm_tile();
    std::int64_t depth_;
    Operand a_;
    Operand b_;
    std::int64_t stride_;
    std::int64_t rows_max_;
    Buffer packed_a_;
    Buffer packed_b_;
    Buffer result_;
};

struct Output {
    TensorView c;
    std::int64_t first = 0;
    std::int64_t row_stride = 0;
};

void write_block(const Output& out,
                 const GemmEpilogueArguments& epilogue,
                 Range rows,
                 Range columns,
                 BlockProduct& block) {
    const auto count = static_cast<std::size_t>(columns.count);
    std::vector<float> bias(count, 0.0f);
    if (!epilogue.bias.empty()) {
        load_row(epilogue.bias, columns.first, bias);
    }
    std::vector<float> before(count, 0.0f);
    for (std::int64_t i = 0; i < rows.count; ++i) {
        const std::int64_t first = out.first + (rows.first + i) * out.row_stride + columns.first;
        const std::span<float> row{block.row(i), count};
        if (epilogue.accumulate) {
            load_row(out.c, first, before);
        }
        for (std::size_t j = 0; j < count; ++j) {
            row[j] = before[j] + (epilogue.alpha * row[j] + bias[j]);
        }
        store_row(out.c, first, row);
    }
}

// Last element that a matrix of `rows` x `columns` touches, plus one.
std::int64_t extent(std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    return rows > 0 && columns > 0 ? (rows - 1) * stride + columns : 0;
}

GemmShape with_strides(GemmShape shape) {
    const auto fill = [](std::int64_t& stride, std::int64_t dense) {
        stride = stride > 0 ? stride : dense;
    };
    fill(shape.row_stride_a, shape.transpose_a ? shape.m : shape.k);
    fill(shape.row_stride_b, shape.transpose_b ? shape.k : shape.n);
    fill(shape.row_stride_c, shape.n);
    return shape;
}

void check_extents(const GemmShape& s, ConstTensorView a, ConstTensorView b, ConstTensorView c) {
    const std::int64_t last = s.batch - 1;
    const std::int64_t rows_a = s.transpose_a ? s.k : s.m;
    const std::int64_t rows_b = s.transpose_b ? s.n : s.k;
    ORRERY_CHECK(s.m >= 0 && s.n >= 0 && s.k >= 0 && s.batch >= 1);
    ORRERY_CHECK(last * s.batch_stride_a + extent(rows_a, s.m + s.k - rows_a, s.row_stride_a) <=
                 a.size);
    ORRERY_CHECK(last * s.batch_stride_b + extent(rows_b, s.n + s.k - rows_b, s.row_stride_b) <=
                 b.size);
    ORRERY_CHECK(last * s.batch_stride_c + extent(s.m, s.n, s.row_stride_c) <= c.size);
}

}  // namespace

void gemm(const GemmShape& given,
          ConstTensorView a,
          ConstTensorView b,
          TensorView c,
          const GemmEpilogueArguments& epilogue) {
    const GemmShape shape = with_strides(given);
    check_extents(shape, a, b, c);
    const bool ta = shape.transpose_a;
    const bool tb = shape.transpose_b;
    BlockProduct block{shape,
                       {.tensor = a,
                        .step = ta ? 1 : shape.row_stride_a,
                        .depth_step = ta ? shape.row_stride_a : 1},
                       {.tensor = b,
                        .step = tb ? shape.row_stride_b : 1,
                        .depth_step = tb ? 1 : shape.row_stride_b}};
    for (std::int64_t matrix = 0; matrix < shape.batch; ++matrix) {
        block.move_to(matrix * shape.batch_stride_a, matrix * shape.batch_stride_b);
        const Output out{c, matrix * shape.batch_stride_c, shape.row_stride_c};
        for (std::int64_t i = 0; i < shape.m; i += kBlockRows) {
            for (std::int64_t j = 0; j < shape.n; j += kBlockColumns) {
                const Range rows{i, std::min(kBlockRows, shape.m - i)};
                const Range columns{j, std::min(kBlockColumns, shape.n - j)};
                block.run(rows, columns);
                write_block(out, epilogue, rows, columns, block);
            }
        }
    }
}

}  // namespace orrery::cpu
