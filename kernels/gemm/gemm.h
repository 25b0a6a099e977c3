// SPDX-License-Identifier: Apache-2.0
// Matrix product C[m, n] = A[m, k] B[k, n], `batch` times. FLOP = 2 m n k batch, without the
// epilogue's operations. Bytes: A, B and C once each, plus the operands of the epilogue.
//   dims = {m, n, k, batch}; dtype = of A and B; variant = epilogue + 8 * (dtype of C).
#pragma once

#include "engine/program/kernel_call.h"

namespace orrery {

enum class GemmEpilogue : std::uint8_t {
    none,
    bias,             // C = AB + bias[n]
    gelu,             // also stores the pre-activation for the backward pass (GELU_AUX_BIAS)
    dgelu,            // C = AB * gelu'(pre-activation)
    accumulate,  // C += AB: gradient accumulation fusion
    // C += AB, and the column sums of B (BGRADA, BGRADB); no op asks for it by itself
    bias_gradient,
};

inline GemmEpilogue gemm_epilogue(const KernelCall& call) {
    return static_cast<GemmEpilogue>(call.variant % 8);
}
inline Dtype gemm_output(const KernelCall& call) {
    return static_cast<Dtype>(call.variant / 8);
}

// Bytes with which a result of this many elements is written, and read before if the product adds
// to it.
inline std::int64_t gemm_result_bytes(std::int64_t elements, GemmEpilogue epilogue, Dtype out) {
    const bool adds =
        epilogue == GemmEpilogue::accumulate || epilogue == GemmEpilogue::bias_gradient;
    return (adds ? 2 : 1) * elements * size_bytes(out);
}

inline KernelCall gemm(std::int64_t m,
                       std::int64_t n,
                       std::int64_t k,
                       std::int64_t batch,
                       Dtype in,
                       GemmEpilogue epilogue,
                       Dtype out) {
    const std::int64_t out_size = size_bytes(out);
    std::int64_t bytes =
        (m * k + k * n) * size_bytes(in) + gemm_result_bytes(m * n, epilogue, out);
    switch (epilogue) {
        case GemmEpilogue::none:
        case GemmEpilogue::accumulate:
            break;
        case GemmEpilogue::bias:
        case GemmEpilogue::bias_gradient:
            bytes += n * out_size;
            break;
        case GemmEpilogue::gelu:
            bytes += (m * n + n) * out_size;
            break;
        case GemmEpilogue::dgelu:
            bytes += m * n * out_size;
            break;
    }
    return {.kind = KernelKind::gemm,
            .dtype = in,
            .variant =
                static_cast<std::uint8_t>(static_cast<int>(epilogue) + 8 * static_cast<int>(out)),
            .dims = {m, n, k, batch},
            .flop = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                    static_cast<double>(batch),
            .bytes = bytes * batch};
}

}  // namespace orrery
