// SPDX-License-Identifier: Apache-2.0
// One kernel call with its shape, as both executors see it: kind, element type, dimensions, and
// work in FLOP and bytes of memory traffic. The kind's descriptor (kernels/<name>/<name>.h)
// documents the order of the dimensions.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

#include "engine/base/units.h"
#include "engine/program/kernel_kinds.h"
#include "engine/program/memory_tier.h"

namespace orrery {

enum class Dtype : std::uint8_t { fp32, bf16, fp16, fp8, int32, int8, uint8 };
inline constexpr int kNumDtypes = 7;
std::string_view name(Dtype dtype);
std::int64_t size_bytes(Dtype dtype);

#define ORRERY_ENUMERATOR(kind) kind,
enum class KernelKind : std::uint8_t { ORRERY_KERNEL_KINDS(ORRERY_ENUMERATOR) };
#undef ORRERY_ENUMERATOR
#define ORRERY_ONE(kind) +1
inline constexpr std::size_t kNumKernelKinds = 0 ORRERY_KERNEL_KINDS(ORRERY_ONE);
#undef ORRERY_ONE
std::string_view name(KernelKind kind);

struct KernelCall {
    KernelKind kind = KernelKind::gemm;
    Dtype dtype = Dtype::bf16;
    std::uint8_t variant = 0;  // meaning by kind: epilogue, attention generation, causal …
    std::array<std::int64_t, 6> dims{};
    double flop = 0;           // floating-point operations that the kernel executes
    std::int64_t bytes = 0;    // memory traffic, read + written, each operand once
    // The memory of its operands. The host's processors run kernels whose operands are in `dram`.
    MemoryTier tier = MemoryTier::hbm;
    bool operator==(const KernelCall&) const = default;
};

}  // namespace orrery
