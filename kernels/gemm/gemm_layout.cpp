// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm_layout.h"

#include <utility>

#include "engine/check.h"

namespace orrery {
namespace {

// A row-major `rows` x `columns` matrix, seen column-major.
LtMatrix seen(std::int64_t rows, std::int64_t columns, Dtype dtype) {
    return {.rows = columns,
            .columns = rows,
            .stride = columns,
            .batch_stride = rows * columns,
            .dtype = dtype};
}

bool has_kernels(Dtype dtype) {
    return dtype == Dtype::fp32 || dtype == Dtype::bf16;
}

}  // namespace

LtGemm lt_gemm(const GemmRequest& r) {
    ORRERY_CHECK(why_not_cublaslt(r).empty());
    LtMatrix a = r.transpose_a ? seen(r.k, r.m, r.in) : seen(r.m, r.k, r.in);
    LtMatrix b = r.transpose_b ? seen(r.n, r.k, r.in) : seen(r.k, r.n, r.in);
    if (r.block_rows > 0) {
        a.batch_stride = r.block_rows * r.k;
        b.batch_stride = 0;
    }
    LtGemm gemm{
        .k = r.k,
        .batch = r.batch,
        .beta = r.accumulate ? 1.0f : 0.0f,
        .epilogue = r.epilogue == GemmEpilogue::accumulate_fp32 ? GemmEpilogue::none : r.epilogue,
        .reserved_sms = r.reserved_sms};
    if (r.transpose_c) {
        // The column-major view of a C that is stored transposed is C itself: nothing is turned.
        gemm.m = r.m;
        gemm.n = r.n;
        gemm.first_is_b = false;
        gemm.transpose_a = !r.transpose_a;
        gemm.transpose_b = !r.transpose_b;
        gemm.a = a;
        gemm.b = b;
        gemm.c = seen(r.n, r.m, r.out);
        return gemm;
    }
    gemm.m = r.n;
    gemm.n = r.m;
    gemm.transpose_a = r.transpose_b;
    gemm.transpose_b = r.transpose_a;
    gemm.a = b;
    gemm.b = a;
    gemm.c = seen(r.m, r.n, r.out);
    gemm.c.batch_stride = r.block_rows > 0 ? r.block_rows * r.n : gemm.c.batch_stride;
    gemm.aux_stride = gemm.c.stride;
    return gemm;
}

std::string why_not_cublaslt(const GemmRequest& r) {
    if (!has_kernels(r.in) || !has_kernels(r.out)) {
        return "products of " + std::string{name(r.in)} + " into " + std::string{name(r.out)} +
               " are not connected to cuBLASLt yet";
    }
    if (r.epilogue == GemmEpilogue::bias_gradient && (r.batch != 1 || r.transpose_b)) {
        return "cuBLASLt sums the columns of one matrix, along the inner dimension";
    }
    const bool plain = r.epilogue == GemmEpilogue::none ||
                       r.epilogue == GemmEpilogue::accumulate_fp32 ||
                       r.epilogue == GemmEpilogue::bias_gradient;
    if (!plain && (r.transpose_c || r.accumulate)) {
        return "a product with an epilogue can neither be added nor stored transposed";
    }
    if (r.epilogue == GemmEpilogue::dgelu && r.batch != 1) {
        return "cuBLASLt has no batches of products with a GELU gradient";
    }
    if (r.block_rows > 0 && (r.transpose_a || r.transpose_c || r.block_rows < r.m)) {
        return "blocks of rows must be rows, and apart";
    }
    return r.m > 0 && r.n > 0 && r.k > 0 && r.batch > 0 ? "" : "an empty product";
}

std::string key_of(const LtGemm& g) {
    std::string key;
    const auto word = [&](std::string_view text) { key += text; };
    const auto number = [&](std::int64_t value) { key += std::to_string(value); };
    number(g.m);
    word("x");
    number(g.n);
    word("x");
    number(g.k);
    word("x");
    number(g.batch);
    word(g.transpose_a ? "_t" : "_n");
    word(g.transpose_b ? "t_" : "n_");
    word(name(g.a.dtype));
    word("_");
    word(name(g.c.dtype));
    word("_e");
    number(static_cast<std::int64_t>(g.epilogue));
    word(g.beta != 0 ? "_add" : "_set");
    if (g.b.batch_stride == 0 || g.a.batch_stride == 0) {
        word("_rows");
        number(g.c.batch_stride / g.c.stride);
    }
    word("_sm");
    number(g.reserved_sms);
    return key;
}

}  // namespace orrery
