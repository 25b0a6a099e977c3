// SPDX-License-Identifier: Apache-2.0
// Products of groups on a GPU (kernels/gemm/grouped_gemm.h), one product of cuBLASLt for each group
// that has rows, one after the other on the stream. The host knows the rows.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/gemm/gemm_cuda.h"

namespace orrery {

// `request` is of one group, its m without meaning; A and C follow one another by group, and so do
// the groups' B. No epilogue but accumulation. Addresses as in GemmPointers, of the first group.
Result<void> run_grouped_gemm(CudaGemm& gemm,
                              const GemmRequest& request,
                              std::span<const std::int64_t> rows,
                              const GemmPointers& pointers,
                              CUstream_st* stream);
// Before run_grouped_gemm: measures the algorithms of the products that it will ask for.
Result<void> prepare_grouped_gemm(CudaGemm& gemm,
                                  const GemmRequest& request,
                                  std::span<const std::int64_t> rows,
                                  const GemmPointers& pointers,
                                  CUstream_st* stream);

}  // namespace orrery
