// SPDX-License-Identifier: Apache-2.0
// One kernel with its shape, as both executors see it: the catalogue entry, the element type, the
// dimensions in the order that the entry's descriptor (kernels/<name>/<name>.h) documents, and the
// work in FLOP and bytes of memory traffic.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

#include "engine/memory_tier.h"
#include "engine/units.h"

namespace orrery {

enum class Dtype : std::uint8_t { fp32, bf16, fp16, fp8, int32, int8, uint8 };
std::string_view name(Dtype dtype);
std::int64_t size_bytes(Dtype dtype);

enum class KernelKind : std::uint8_t {
    gemm,                    // cuBLASLt, optional batch and fused epilogue
    attention_forward,       // flash attention
    attention_backward,
    softmax_forward,         // unfused attention: scale, mask, softmax (and dropout)
    softmax_backward,
    layernorm_forward,
    layernorm_backward,
    rmsnorm_forward,
    rmsnorm_backward,
    rope,                    // forward or backward, in place on Q and K
    gelu_forward,
    gelu_backward,
    swiglu_forward,
    swiglu_backward,
    residual_add,
    dropout,
    bias_gradient,           // column sums
    embedding_forward,
    embedding_backward,
    cross_entropy_forward,   // vocabulary-parallel pieces included
    cross_entropy_backward,
    cast,                    // dtype change, fp8 amax and transpose-cast
    gradient_accumulate,     // main_grad += grad
    gradient_norm,
    gradient_scale,
    adamw,
    lamb_update,             // moments, the update in the gradients' place, norms for its trust
    lamb,                    // the update times its trust ratio added to the weights
    transpose,               // layout change in memory
};
inline constexpr std::size_t kNumKernelKinds = 29;
std::string_view name(KernelKind kind);

struct KernelCall {
    KernelKind kind = KernelKind::gemm;
    Dtype dtype = Dtype::bf16;
    std::uint8_t variant = 0;  // meaning by kind: epilogue, attention generation, causal …
    std::array<std::int64_t, 6> dims{};
    double flop = 0;           // floating-point operations that the kernel executes
    std::int64_t bytes = 0;    // memory traffic, read + written, each operand once
    // Where its operands lie. The host's processors run what works in `dram`.
    MemoryTier tier = MemoryTier::hbm;
    bool operator==(const KernelCall&) const = default;
};

}  // namespace orrery
