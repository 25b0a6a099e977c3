// SPDX-License-Identifier: Apache-2.0
#include "engine/kernel_call.h"

namespace orrery {

std::string_view name(Dtype dtype) {
    static constexpr std::array<std::string_view, 7> kNames{"fp32", "bf16",  "fp16", "fp8",
                                                            "int32", "int8", "uint8"};
    return kNames[static_cast<std::size_t>(dtype)];
}

std::int64_t size_bytes(Dtype dtype) {
    static constexpr std::array<std::int64_t, 7> kSizes{4, 2, 2, 1, 4, 1, 1};
    return kSizes[static_cast<std::size_t>(dtype)];
}

std::string_view name(KernelKind kind) {
    static constexpr std::array<std::string_view, kNumKernelKinds> kNames{
        "gemm",
        "attention_forward",
        "attention_backward",
        "softmax_forward",
        "softmax_backward",
        "layernorm_forward",
        "layernorm_backward",
        "rmsnorm_forward",
        "rmsnorm_backward",
        "rope",
        "gelu_forward",
        "gelu_backward",
        "swiglu_forward",
        "swiglu_backward",
        "residual_add",
        "dropout",
        "bias_gradient",
        "embedding_forward",
        "embedding_backward",
        "cross_entropy_forward",
        "cross_entropy_backward",
        "cast",
        "gradient_accumulate",
        "gradient_norm",
        "gradient_scale",
        "adamw",
        "lamb_update",
        "lamb",
        "transpose"};
    return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace orrery
