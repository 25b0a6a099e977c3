// SPDX-License-Identifier: Apache-2.0
// A matrix product in the terms of cuBLASLt. cuBLASLt's matrices are column-major, ours are
// row-major, and a row-major matrix is the column-major transpose of itself. C = op(A) op(B)
// becomes C^T = op(B)^T op(A)^T: its "A" is our B, its "B" is our A, its m is our n, and no data
// move. The bias of its epilogue has one element for each of its rows, which are our columns. A
// product whose C is stored transposed is transposed first: C^T = B^T A^T. The sums of a bias
// gradient run along the inner dimension of our B, which is its "A" (BGRADA) or, if transposed, its
// "B". The header has plain numbers and needs no CUDA headers, so that it is tested on any machine.
#pragma once

#include <cstdint>
#include <string>

#include "engine/program/kernel_call.h"
#include "kernels/gemm/gemm.h"

namespace orrery {

// Distances in elements: from one row of a stored matrix to the next (0: contiguous), and from one
// matrix of a batch to the next.
struct GemmSteps {
    std::int64_t row = 0;
    std::int64_t batch = 0;
    bool operator==(const GemmSteps&) const = default;
};

// A product as described by a gemm call and its operands.
struct GemmRequest {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t batch = 1;
    Dtype in = Dtype::bf16;    // of A and B
    Dtype out = Dtype::bf16;   // of C
    bool transpose_a = false;  // A is stored [k, m]
    bool transpose_b = false;  // B is stored [n, k]
    bool transpose_c = false;  // C is stored [n, m]; only without epilogue
    GemmEpilogue epilogue = GemmEpilogue::none;
    bool accumulate = false;  // C += AB
    GemmSteps steps_a{};
    GemmSteps steps_b{};
    GemmSteps steps_c{};
    std::int32_t alignment = 64;  // of A, B and C in bytes: a power of two
    // SMs to leave to concurrent communication.
    std::int32_t reserved_sms = 0;
    bool operator==(const GemmRequest&) const = default;
};

// Column-major; `stride` elements from one column to the next.
struct LtMatrix {
    std::int64_t rows = 0;  // as stored, before the operation
    std::int64_t columns = 0;
    std::int64_t stride = 0;
    std::int64_t batch_stride = 0;
    Dtype dtype = Dtype::bf16;
    bool operator==(const LtMatrix&) const = default;
};

struct LtGemm {
    std::int64_t m = 0;  // of D = alpha op(A) op(B) + beta C
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t batch = 1;
    bool first_is_b = true;  // cuBLASLt's A is the request's B
    bool transpose_a = false;
    bool transpose_b = false;
    LtMatrix a;
    LtMatrix b;
    LtMatrix c;  // and D, in place
    float beta = 0;
    GemmEpilogue epilogue = GemmEpilogue::none;
    std::int64_t aux_stride = 0;  // the pre-activations of gelu and dgelu have the layout of C
    std::int32_t alignment = 64;
    std::int32_t reserved_sms = 0;
    bool operator==(const LtGemm&) const = default;
};

LtGemm lt_gemm(const GemmRequest& request);

// The reason why cuBLASLt does not support a request, or empty.
std::string why_not_cublaslt(const GemmRequest& request);

// A word that identifies the product, the key of its algorithm.
std::string key_of(const LtGemm& gemm);

}  // namespace orrery
