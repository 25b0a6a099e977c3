// SPDX-License-Identifier: Apache-2.0
// Instructions for the products of a warpgroup (PTX: wgmma.mma_async, sm_90a): C [64, 64 or 128] in
// fp32 += A [64, 16] B [16, ...] in bf16. A thread holds the same elements of C as in mma.m16n8k16
// with 16 rows a warp. Code for other devices contains them, too, but must not execute them.
#pragma once

#include <cstdint>

// A thread's sums of the columns from the n-th eight on; `io` is the operand's constraint.
#define ORRERY_SUMS_8(io, n) io "f"(c[n][0]), io "f"(c[n][1]), io "f"(c[n][2]), io "f"(c[n][3])
#define ORRERY_SUMS_32(io, n)                                                     \
    ORRERY_SUMS_8(io, n), ORRERY_SUMS_8(io, (n) + 1), ORRERY_SUMS_8(io, (n) + 2), \
        ORRERY_SUMS_8(io, (n) + 3)
#define ORRERY_SUMS_64(io) ORRERY_SUMS_32(io, 0), ORRERY_SUMS_32(io, 4)
#define ORRERY_SUMS_128(io) ORRERY_SUMS_64(io), ORRERY_SUMS_32(io, 8), ORRERY_SUMS_32(io, 12)

#define ORRERY_OPERANDS_32                                                                       \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
    "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define ORRERY_OPERANDS_64                                                                    \
    ORRERY_OPERANDS_32                                                                        \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, " \
    "%49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

#define ORRERY_WGMMA(add, shape, operands)                                               \
    "{ .reg .pred add; setp.ne.b32 add, " add ", 0; wgmma.mma_async.sync.aligned." shape \
    ".f32.bf16.bf16 {" operands "}, "

namespace orrery::device::wgmma {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ __forceinline__ void publish() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// A and B in shared memory, both with contiguous inner dimension. multiply_first() does not read C:
// two sums would otherwise wait for common zeros.
__device__ __forceinline__ void multiply_first(float (&c)[8][4], std::uint64_t a, std::uint64_t b) {
    asm volatile(ORRERY_WGMMA("0", "m64n64k16", ORRERY_OPERANDS_32) "%32, %33, add, 1, 1, 0, 0; }"
                 : ORRERY_SUMS_64("=")
                 : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiply_first(float (&c)[16][4],
                                               std::uint64_t a,
                                               std::uint64_t b) {
    asm volatile(ORRERY_WGMMA("0", "m64n128k16", ORRERY_OPERANDS_64) "%64, %65, add, 1, 1, 0, 0; }"
                 : ORRERY_SUMS_128("=")
                 : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiply(float (&c)[8][4], std::uint64_t a, std::uint64_t b) {
    asm volatile(ORRERY_WGMMA("1", "m64n64k16", ORRERY_OPERANDS_32) "%32, %33, add, 1, 1, 0, 0; }"
                 : ORRERY_SUMS_64("+")
                 : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiply(float (&c)[16][4], std::uint64_t a, std::uint64_t b) {
    asm volatile(ORRERY_WGMMA("1", "m64n128k16", ORRERY_OPERANDS_64) "%64, %65, add, 1, 1, 0, 0; }"
                 : ORRERY_SUMS_128("+")
                 : "l"(a), "l"(b));
}
// A in registers; B in shared memory with contiguous columns.
__device__ __forceinline__ void multiply(float (&c)[8][4],
                                         const std::uint32_t (&a)[4],
                                         std::uint64_t b) {
    asm volatile(
        ORRERY_WGMMA(
            "1", "m64n64k16", ORRERY_OPERANDS_32) "{%32, %33, %34, %35}, %36, add, 1, 1, 1; }"
        : ORRERY_SUMS_64("+")
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void multiply(float (&c)[16][4],
                                         const std::uint32_t (&a)[4],
                                         std::uint64_t b) {
    asm volatile(
        ORRERY_WGMMA(
            "1", "m64n128k16", ORRERY_OPERANDS_64) "{%64, %65, %66, %67}, %68, add, 1, 1, 1; }"
        : ORRERY_SUMS_128("+")
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#else

__device__ __forceinline__ void publish() {}
__device__ __forceinline__ void begin() {
    __trap();
}
__device__ __forceinline__ void commit() {}
__device__ __forceinline__ void wait() {}
template <class Sums>
__device__ __forceinline__ void multiply_first(Sums& c, std::uint64_t, std::uint64_t) {
    for (auto& columns : c) {
        for (float& sum : columns) {
            sum = 0.0f;
        }
    }
}
template <class Sums, class A>
__device__ __forceinline__ void multiply(Sums&, const A&, std::uint64_t) {}

#endif

}  // namespace orrery::device::wgmma

#undef ORRERY_SUMS_8
#undef ORRERY_SUMS_32
#undef ORRERY_SUMS_64
#undef ORRERY_SUMS_128
#undef ORRERY_OPERANDS_32
#undef ORRERY_OPERANDS_64
#undef ORRERY_WGMMA
