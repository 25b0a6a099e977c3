// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm_layout.h"

#include <utility>

#include "engine/base/check.h"

namespace orrery {
namespace {

// A row-major `rows` x `columns` matrix in column-major terms.
LtMatrix seen(std::int64_t rows, std::int64_t columns, const GemmSteps& steps, Dtype dtype) {
    return {.rows = columns,
            .columns = rows,
            .stride = steps.row > 0 ? steps.row : columns,
            .batch_stride = steps.batch,
            .dtype = dtype};
}

// Whether the matrices of the batch do not overlap.
bool lie_apart(const LtMatrix& m, std::int64_t batch) {
    const bool behind = m.batch_stride >= (m.columns - 1) * m.stride + m.rows;
    const bool beside =
        m.batch_stride >= m.rows && m.stride >= (batch - 1) * m.batch_stride + m.rows;
    return m.stride >= m.rows && (batch == 1 || behind || beside);
}

LtMatrix result_of(const GemmRequest& r) {
    return r.transpose_c ? seen(r.n, r.m, r.steps_c, r.out) : seen(r.m, r.n, r.steps_c, r.out);
}

bool has_kernels(Dtype dtype) {
    return dtype == Dtype::fp32 || dtype == Dtype::bf16;
}

}  // namespace

LtGemm lt_gemm(const GemmRequest& r) {
    ORRERY_CHECK(why_not_cublaslt(r).empty());
    const LtMatrix a =
        r.transpose_a ? seen(r.k, r.m, r.steps_a, r.in) : seen(r.m, r.k, r.steps_a, r.in);
    const LtMatrix b =
        r.transpose_b ? seen(r.n, r.k, r.steps_b, r.in) : seen(r.k, r.n, r.steps_b, r.in);
    LtGemm gemm{
        .k = r.k,
        .batch = r.batch,
        .beta = r.accumulate ? 1.0f : 0.0f,
        .epilogue = r.epilogue == GemmEpilogue::accumulate ? GemmEpilogue::none : r.epilogue,
        .alignment = r.alignment,
        .reserved_sms = r.reserved_sms};
    gemm.c = result_of(r);
    if (r.transpose_c) {
        // The column-major view of a C that is stored transposed is C itself, so that no swap is
        // needed.
        gemm.m = r.m;
        gemm.n = r.n;
        gemm.first_is_b = false;
        gemm.transpose_a = !r.transpose_a;
        gemm.transpose_b = !r.transpose_b;
        gemm.a = a;
        gemm.b = b;
        return gemm;
    }
    gemm.m = r.n;
    gemm.n = r.m;
    gemm.transpose_a = r.transpose_b;
    gemm.transpose_b = r.transpose_a;
    gemm.a = b;
    gemm.b = a;
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
                       r.epilogue == GemmEpilogue::accumulate ||
                       r.epilogue == GemmEpilogue::bias_gradient;
    if (!plain && (r.transpose_c || r.accumulate)) {
        return "a product with an epilogue can neither be added nor stored transposed";
    }
    if (r.epilogue == GemmEpilogue::dgelu && r.batch != 1) {
        return "cuBLASLt has no batches of products with a GELU gradient";
    }
    if (!(r.m > 0 && r.n > 0 && r.k > 0 && r.batch > 0)) {
        return "an empty product";
    }
    return lie_apart(result_of(r), r.batch) ? "" : "the results of a batch must lie apart";
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
    for (const LtMatrix* matrix : {&g.a, &g.b, &g.c}) {
        if (g.batch > 1 || matrix->stride != matrix->rows) {
            word("_");
            number(matrix->stride);
            word("+");
            number(g.batch > 1 ? matrix->batch_stride : 0);
        }
    }
    if (g.alignment != 64) {
        word("_al");
        number(g.alignment);
    }
    word("_sm");
    number(g.reserved_sms);
    return key;
}

}  // namespace orrery
