// SPDX-License-Identifier: Apache-2.0
// A matrix product as cuBLASLt takes it. cuBLASLt's matrices are column-major, ours row-major, and
// a row-major matrix is the column-major transpose of itself: C = op(A) op(B) becomes
// C^T = op(B)^T op(A)^T, so its "A" is our B, its "B" our A, its m our n, and nothing is moved. The
// bias of its epilogue has an element for each of its rows: for each of our columns. A product
// whose C is stored transposed is turned round first: C^T = B^T A^T. The sums of a bias gradient
// run along the inner dimension of our B, which is its "A" (BGRADA) or, turned round, its "B".
// Plain numbers, without CUDA's headers: chosen and tested on any machine.
#pragma once

#include <cstdint>
#include <string>

#include "engine/program/kernel_call.h"
#include "kernels/gemm/gemm.h"

namespace orrery {

// Where the stored matrices of a product lie: elements from one row to the next (0: rows follow
// each other), and from one matrix of a batch to the next.
struct GemmSteps {
    std::int64_t row = 0;
    std::int64_t batch = 0;
    bool operator==(const GemmSteps&) const = default;
};

// The product that a gemm call and its operands stand for.
struct GemmRequest {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t batch = 1;
    Dtype in = Dtype::bf16;    // of A and B
    Dtype out = Dtype::bf16;   // of C
    bool transpose_a = false;  // A is stored [k, m]
    bool transpose_b = false;  // B is stored [n, k]
    bool transpose_c = false;  // C is stored [n, m]; without epilogue
    GemmEpilogue epilogue = GemmEpilogue::none;
    bool accumulate = false;  // C += AB
    GemmSteps steps_a{};
    GemmSteps steps_b{};
    GemmSteps steps_c{};
    std::int32_t alignment = 64;  // of A, B and C in bytes: a power of two
    // SMs to leave to what communicates at the same time.
    std::int32_t reserved_sms = 0;
    bool operator==(const GemmRequest&) const = default;
};

// Column-major, `stride` elements from one column to the next.
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
    bool first_is_b = true;  // its A is the request's B
    bool transpose_a = false;
    bool transpose_b = false;
    LtMatrix a;
    LtMatrix b;
    LtMatrix c;  // and D, in place
    float beta = 0;
    GemmEpilogue epilogue = GemmEpilogue::none;
    std::int64_t aux_stride = 0;  // pre-activations of gelu and dgelu lie as C does
    std::int32_t alignment = 64;
    std::int32_t reserved_sms = 0;
    bool operator==(const LtGemm&) const = default;
};

LtGemm lt_gemm(const GemmRequest& request);

// Why cuBLASLt can't be asked for it, or empty.
std::string why_not_cublaslt(const GemmRequest& request);

// One word that tells products apart: where a chosen algorithm is kept.
std::string key_of(const LtGemm& gemm);

}  // namespace orrery
