// SPDX-License-Identifier: Apache-2.0
#include "engine/program/kernel_call.h"

namespace orrery {

std::string_view name(Dtype dtype) {
    static constexpr std::array<std::string_view, kNumDtypes> kNames{"fp32", "bf16",  "fp16", "fp8",
                                                            "int32", "int8", "uint8"};
    return kNames[static_cast<std::size_t>(dtype)];
}

std::int64_t size_bytes(Dtype dtype) {
    static constexpr std::array<std::int64_t, kNumDtypes> kSizes{4, 2, 2, 1, 4, 1, 1};
    return kSizes[static_cast<std::size_t>(dtype)];
}

std::string_view name(KernelKind kind) {
#define ORRERY_NAME(kind) #kind,
    static constexpr std::array<std::string_view, kNumKernelKinds> kNames{
        ORRERY_KERNEL_KINDS(ORRERY_NAME)};
#undef ORRERY_NAME
    return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace orrery
