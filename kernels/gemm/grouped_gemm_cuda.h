// SPDX-License-Identifier: Apache-2.0
// Products of groups on a GPU (kernels/gemm/grouped_gemm.h): one product of cuBLASLt for each group
// with rows, one after the other on the stream. The host must know the rows.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/gemm/gemm_cuda.h"

namespace orrery {

// `request` describes one group; its m is ignored. A and C are contiguous by group, and so are the
// matrices of B. The only epilogue is accumulation. `pointers` are the addresses of the first
// group.
Result<void> run_grouped_gemm(CudaGemm& gemm,
                              const GemmRequest& request,
                              std::span<const std::int64_t> rows,
                              const GemmPointers& pointers,
                              CUstream_st* stream);
// Measures the algorithms for the products of run_grouped_gemm(). Call it before.
Result<void> prepare_grouped_gemm(CudaGemm& gemm,
                                  const GemmRequest& request,
                                  std::span<const std::int64_t> rows,
                                  const GemmPointers& pointers,
                                  CUstream_st* stream);

}  // namespace orrery
