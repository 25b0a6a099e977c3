// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/grouped_gemm_cuda.h"

#include <cstddef>

#include "engine/base/check.h"

namespace orrery {
namespace {

// Calls `visit` with each group's product and addresses.
template <class Visit>
Result<void> for_each_group(const GemmRequest& request,
                            std::span<const std::int64_t> rows,
                            const GemmPointers& pointers,
                            Visit visit) {
    ORRERY_CHECK(request.epilogue == GemmEpilogue::none ||
                 request.epilogue == GemmEpilogue::accumulate);
    ORRERY_CHECK(request.batch == 1 && !request.transpose_a && !request.transpose_c);
    const auto* a = static_cast<const std::byte*>(pointers.a);
    const auto* b = static_cast<const std::byte*>(pointers.b);
    auto* c = static_cast<std::byte*>(pointers.c);
    for (const std::int64_t of_group : rows) {
        ORRERY_CHECK(of_group >= 0);
        if (of_group > 0) {
            GemmRequest product = request;
            product.m = of_group;
            const Result<void> done = visit(product, GemmPointers{.a = a, .b = b, .c = c});
            if (!done) {
                return done;
            }
        }
        a += of_group * request.k * size_bytes(request.in);
        b += request.k * request.n * size_bytes(request.in);
        c += of_group * request.n * size_bytes(request.out);
    }
    return {};
}

}  // namespace

Result<void> run_grouped_gemm(CudaGemm& gemm,
                              const GemmRequest& request,
                              std::span<const std::int64_t> rows,
                              const GemmPointers& pointers,
                              CUstream_st* stream) {
    return for_each_group(
        request, rows, pointers, [&](const GemmRequest& product, const GemmPointers& at) {
            return gemm.run(product, at, stream);
        });
}

Result<void> prepare_grouped_gemm(CudaGemm& gemm,
                                  const GemmRequest& request,
                                  std::span<const std::int64_t> rows,
                                  const GemmPointers& pointers,
                                  CUstream_st* stream) {
    return for_each_group(
        request, rows, pointers, [&](const GemmRequest& product, const GemmPointers& at) {
            return gemm.prepare(product, at, stream);
        });
}

}  // namespace orrery
