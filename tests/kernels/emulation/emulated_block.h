// SPDX-License-Identifier: Apache-2.0
// Runs device code (kernels/cuda/block.h) on the host: every thread of a block is a fiber that runs
// until it has to wait for others, warps exchange values at the points where they would on a GPU,
// and tensor-core fragments follow the layouts of the PTX manual. What would be undefined on a GPU
// is made visible: shared memory starts as NaNs, the target of an asynchronous copy is NaNs until
// the copy is waited for, a warpgroup's products see of shared memory what was published to them
// alone and their sums are NaNs until they are waited for, the order in which threads run is a
// parameter (a result that depends on it is a race), and threads that wait for each other for ever
// stop the test.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/cuda/elements.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/warpgroup.h"

namespace orrery::emulation {

enum class ThreadOrder : std::uint8_t { ascending, descending, shuffled };

// What the lanes of a warp do together: each leaves its operands, the last to come finishes it.
enum class Exchange : std::uint8_t { none, sync, shuffle, matrices, matrices_transposed, mma };

struct Lane {
    std::uint32_t in[8] = {};
    float c[4] = {};
    const void* row = nullptr;
    int from = 0;
    std::uint32_t out[4] = {};
};

struct Warp {
    Lane lanes[device::kWarp];
    Exchange exchange = Exchange::none;
    int arrived = 0;
    std::uint64_t generation = 0;
};

// What the 128 threads of a warpgroup begin together: sums [64, columns] += A B.
struct WarpgroupLane {
    std::uint64_t a_descriptor = 0;
    std::uint64_t b_descriptor = 0;
    std::uint32_t a[4] = {};
    float* sums = nullptr;
};
struct Warpgroup {
    WarpgroupLane lanes[device::kWarpgroup];
    int arrived = 0;
    std::uint64_t generation = 0;
};

struct BlockState {
    std::int64_t x = 0;
    std::int64_t y = 0;
    device::Geometry geometry;
    std::vector<device::Words> shared;
    std::vector<Warp> warps;
    std::vector<device::Words> published{};  // shared memory as products see it
    std::vector<Warpgroup> warpgroups{};
    int arrived = 0;
    std::uint64_t generation = 0;
};

class EmulatedBlock {
public:
    EmulatedBlock(BlockState& state, int thread) : state_(state), thread_(thread) {}

    int thread() const { return thread_; }
    int threads() const { return state_.geometry.threads; }
    int lane() const { return thread_ % device::kWarp; }
    int warp() const { return thread_ / device::kWarp; }
    std::int64_t x() const { return state_.x; }
    std::int64_t y() const { return state_.y; }
    std::int64_t blocks_x() const { return state_.geometry.blocks_x; }
    std::int64_t blocks_y() const { return state_.geometry.blocks_y; }
    std::byte* shared() { return reinterpret_cast<std::byte*>(state_.shared.data()); }

    void sync();
    void sync_warp() { exchange(Exchange::sync); }
    template <class T>
    T shuffle_xor(T value, int lane_mask) {
        return shuffle(value, lane() ^ lane_mask);
    }
    template <class T>
    T shuffle(T value, int from_lane) {
        static_assert(sizeof(T) % 4 == 0 && sizeof(T) <= 8);
        Lane& own = own_lane();
        std::memcpy(own.in, &value, sizeof(T));
        own.from = from_lane % device::kWarp;
        exchange(Exchange::shuffle);
        std::memcpy(&value, own.out, sizeof(T));
        return value;
    }
    float exp2_approx(float x) { return std::exp2(x); }
    float reciprocal_approx(float x) { return 1.0f / x; }

    void copy_async(void* shared, const void* global, bool valid);
    void commit() { groups_.emplace_back(); }
    template <int kInFlight>
    void wait() {
        wait_for_groups(kInFlight);
    }
    void load_matrices(const void* row, std::uint32_t (&m)[4]) {
        load_matrices(Exchange::matrices, row, m);
    }
    void load_matrices_transposed(const void* row, std::uint32_t (&m)[4]) {
        load_matrices(Exchange::matrices_transposed, row, m);
    }
    void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);

    // Products of a warpgroup (emulated_warpgroup.cpp).
    std::uint32_t shared_address(const void* shared) {
        return static_cast<std::uint32_t>(static_cast<const std::byte*>(shared) - this->shared());
    }
    void publish_to_products();
    void begin_products();
    template <int kTiles>
    void multiply_first(float (&c)[kTiles][4], std::uint64_t a, std::uint64_t b) {
        std::memset(c, 0, sizeof c);
        multiply(c, a, b);
    }
    template <int kTiles>
    void multiply(float (&c)[kTiles][4], std::uint64_t a, std::uint64_t b) {
        multiply(&c[0][0], kTiles, {.a_descriptor = a, .b_descriptor = b});
    }
    template <int kTiles>
    void multiply(float (&c)[kTiles][4], const std::uint32_t (&a)[4], std::uint64_t b) {
        WarpgroupLane lane{.b_descriptor = b};
        std::memcpy(lane.a, a, sizeof a);
        multiply(&c[0][0], kTiles, lane);
    }
    void end_products();
    void wait_for_products();

    // At the end of the thread: no copy and no product may be in flight.
    void finish();

private:
    struct Copy {
        void* to;
        const void* from;
    };
    struct PendingSums {
        float* to;
        std::vector<float> values;
    };
    enum class Products : std::uint8_t { none, begun, ended };
    void multiply(float* c, int tiles, const WarpgroupLane& operands);
    Warp& own_warp() { return state_.warps[static_cast<std::size_t>(warp())]; }
    Lane& own_lane() { return own_warp().lanes[lane()]; }
    void exchange(Exchange kind);
    void load_matrices(Exchange kind, const void* row, std::uint32_t (&m)[4]);
    void wait_for_groups(int in_flight);

    BlockState& state_;
    int thread_;
    std::vector<std::vector<Copy>> groups_{1};  // the last is open
    std::vector<void*> landed_;                 // copies that are not published yet
    Products products_ = Products::none;
    std::vector<std::unique_ptr<PendingSums>> pending_;
};

using ThreadCode = std::function<void(EmulatedBlock&)>;
void run_block(BlockState& state, ThreadOrder order, const ThreadCode& code);

// Runs the blocks of every launch at once, in the order of the threads or (descending) backwards.
class EmulatedQueue {
public:
    explicit EmulatedQueue(ThreadOrder order = ThreadOrder::ascending,
                           device::TensorCores tensor_cores = device::TensorCores::warps)
        : order_(order), tensor_cores_(tensor_cores) {}
    device::TensorCores tensor_cores() const { return tensor_cores_; }

    template <class Kernel>
    void launch(const Kernel& kernel, const device::Geometry& geometry) {
        check(geometry, Kernel::kThreadsMax);
        for (std::int64_t i = 0; i < geometry.blocks_x * geometry.blocks_y; ++i) {
            const std::int64_t block = order_ == ThreadOrder::ascending
                                           ? i
                                           : geometry.blocks_x * geometry.blocks_y - 1 - i;
            BlockState state{.x = block % geometry.blocks_x,
                             .y = block / geometry.blocks_x,
                             .geometry = geometry,
                             .shared = {},
                             .warps = {}};
            run_block(state, order_, [&](EmulatedBlock& thread) { kernel(thread); });
        }
    }
    std::byte* scratch(std::int64_t bytes);
    // That the last call asked for.
    std::int64_t scratch_bytes() const { return scratch_bytes_; }

private:
    static void check(const device::Geometry& geometry, int threads_max);
    ThreadOrder order_;
    device::TensorCores tensor_cores_;
    std::vector<device::Words> scratch_;
    std::int64_t scratch_bytes_ = 0;
};

}  // namespace orrery::emulation
