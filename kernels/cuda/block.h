// SPDX-License-Identifier: Apache-2.0
// The interface of device code. A kernel is a plain struct: its members are the arguments, and
// operator()(Block&) is the work of each thread. `Block` is CudaBlock (below) on a GPU, or
// EmulatedBlock (tests/kernels/emulation) on the host, so that both run the same arithmetic and
// indexing. Operations that are not the same C++ on both (barriers, shuffles, tensor cores,
// asynchronous copies, fast exponentials) are members of the block.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#include "kernels/cuda/warpgroup_products.h"
#define ORRERY_DEVICE __device__ __forceinline__
#define ORRERY_HOST_DEVICE __host__ __device__ __forceinline__
#define ORRERY_UNROLL _Pragma("unroll")
#else
#define ORRERY_DEVICE inline
#define ORRERY_HOST_DEVICE inline
#define ORRERY_UNROLL
#endif

namespace orrery::device {

inline constexpr int kWarp = 32;

// Numbers of blocks in x and y, threads per block, and bytes of dynamic shared memory per block.
struct Geometry {
    std::int64_t blocks_x = 1;
    std::int64_t blocks_y = 1;
    int threads = kWarp;
    int shared_bytes = 0;
    bool operator==(const Geometry&) const = default;
};

// 16 bytes; words_at() and put_words() (elements.h) move them in one access.
struct alignas(16) Words {
    std::uint32_t w[4];
};

#ifdef __CUDACC__
extern __shared__ __align__(1024) Words orrery_shared_memory[];

class CudaBlock {
public:
    __device__ int thread() const { return static_cast<int>(threadIdx.x); }
    __device__ int threads() const { return static_cast<int>(blockDim.x); }
    __device__ int lane() const { return thread() % kWarp; }
    __device__ int warp() const { return thread() / kWarp; }
    __device__ std::int64_t x() const { return blockIdx.x; }
    __device__ std::int64_t y() const { return blockIdx.y; }
    __device__ std::int64_t blocks_x() const { return gridDim.x; }
    __device__ std::int64_t blocks_y() const { return gridDim.y; }
    __device__ std::byte* shared() { return reinterpret_cast<std::byte*>(orrery_shared_memory); }

    // All threads of the block must call sync(); all lanes of the warp must call the following
    // ones.
    __device__ void sync() { __syncthreads(); }
    __device__ void sync_warp() { __syncwarp(); }
    template <class T>
    __device__ T shuffle_xor(T value, int lane_mask) {
        return __shfl_xor_sync(0xFFFFFFFFu, value, lane_mask);
    }
    template <class T>
    __device__ T shuffle(T value, int from_lane) {
        return __shfl_sync(0xFFFFFFFFu, value, from_lane);
    }

    // 2^x with an error of 2 units in the last place; 2^-infinity is 0.
    __device__ float exp2_approx(float x) {
        float y;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }

    // 1 / x with an error of 1 unit in the last place; 1 / infinity is 0.
    __device__ float reciprocal_approx(float x) {
        float y;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }

    // Asynchronous 16-byte copies from global to shared memory, both 16-byte aligned. If not
    // `valid`, the destination is zeroed and the source not read. commit() closes a group;
    // wait<n>() leaves at most the n youngest groups of this thread in flight.
    __device__ void copy_async(void* shared, const void* global, bool valid) {
        const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
        const int bytes = valid ? 16 : 0;
        asm volatile(
            "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes)
            : "memory");
    }
    __device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
    template <int kInFlight>
    __device__ void wait() {
        asm volatile("cp.async.wait_group %0;" ::"n"(kInFlight) : "memory");
    }

    // Loads four 8x8 matrices of 16-bit elements. Lane l gives the address of row l % 8 of matrix l
    // / 8, and receives two elements of each matrix: row l / 4, columns 2 (l % 4) and the next. The
    // second form loads the transposes.
    __device__ void load_matrices(const void* row, std::uint32_t (&m)[4]) {
        const auto from = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                     : "r"(from)
                     : "memory");
    }
    __device__ void load_matrices_transposed(const void* row, std::uint32_t (&m)[4]) {
        const auto from = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                     : "r"(from)
                     : "memory");
    }

    // C += A B with A 16 x 16, B 16 x 8 in bf16 and C 16 x 8 in fp32 (PTX: mma.m16n8k16).
    __device__ void mma(float (&c)[4],
                        const std::uint32_t (&a)[4],
                        std::uint32_t b0,
                        std::uint32_t b1) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }

    // Products of a warpgroup (kernels/cuda/warpgroup.h). They are asynchronous, and its 128
    // threads start them together. From begin_products() to wait_for_products() the thread must not
    // access C. The products see this thread's copies and writes to shared memory after
    // publish_to_products() and a sync().
    __device__ std::uint32_t shared_address(const void* shared) const {
        return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    }
    __device__ void publish_to_products() { wgmma::publish(); }
    __device__ void begin_products() { wgmma::begin(); }
    // multiply_first: c = a b, whatever c holds; multiply: c += a b.
    template <class Sums>
    __device__ void multiply_first(Sums& c, std::uint64_t a, std::uint64_t b) {
        wgmma::multiply_first(c, a, b);
    }
    template <class Sums, class A>
    __device__ void multiply(Sums& c, const A& a, std::uint64_t b) {
        wgmma::multiply(c, a, b);
    }
    __device__ void end_products() { wgmma::commit(); }
    __device__ void wait_for_products() { wgmma::wait(); }
};
#endif

}  // namespace orrery::device
