// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/emulation/emulated_block.h"

#include "tests/kernels/emulation/fibers.h"

namespace orrery::emulation {
namespace {

using device::kWarp;

constexpr std::uint32_t kNotANumber = 0xFFFFFFFFu;  // as fp32, and twice as bf16

void shuffle(Warp& warp) {
    for (Lane& lane : warp.lanes) {
        std::memcpy(lane.out, warp.lanes[lane.from].in, 8);
    }
}

// PTX ISA, ldmatrix: row r of matrix m is at the address that lane 8 m + r gives; lane l receives
// elements (l / 4, 2 (l % 4)) and the next, of the transpose if asked.
void load_matrices_of(Warp& warp, bool transposed) {
    const auto element = [&](int matrix, int row, int column) {
        std::uint16_t bits = 0;
        const auto* at = static_cast<const std::byte*>(warp.lanes[8 * matrix + row].row);
        std::memcpy(&bits, at + 2 * column, 2);
        return static_cast<std::uint32_t>(bits);
    };
    for (int lane = 0; lane < kWarp; ++lane) {
        const int row = lane / 4;
        const int column = lane % 4 * 2;
        for (int m = 0; m < 4; ++m) {
            const std::uint32_t low =
                transposed ? element(m, column, row) : element(m, row, column);
            const std::uint32_t high =
                transposed ? element(m, column + 1, row) : element(m, row, column + 1);
            warp.lanes[lane].out[m] = low | high << 16;
        }
    }
}

// PTX ISA, matrix fragments of mma.m16n8k16 with .bf16: with g = lane / 4 and t = lane % 4,
//   A: word i holds row g + 8 (i % 2), columns 2 t + 8 (i / 2) and the next;
//   B: word i holds rows 2 t + 8 i and the next, column g;
//   C: element i is row g + 8 (i / 2), column 2 t + i % 2.
void multiply(Warp& warp) {
    float a[16][16];
    float b[16][8];
    for (int lane = 0; lane < kWarp; ++lane) {
        const int g = lane / 4;
        const int t = lane % 4;
        const Lane& own = warp.lanes[lane];
        for (int i = 0; i < 4; ++i) {
            a[g + 8 * (i % 2)][2 * t + 8 * (i / 2)] = device::low_of(own.in[i]);
            a[g + 8 * (i % 2)][2 * t + 8 * (i / 2) + 1] = device::high_of(own.in[i]);
        }
        for (int i = 0; i < 2; ++i) {
            b[2 * t + 8 * i][g] = device::low_of(own.in[4 + i]);
            b[2 * t + 8 * i + 1][g] = device::high_of(own.in[4 + i]);
        }
    }
    for (int lane = 0; lane < kWarp; ++lane) {
        for (int i = 0; i < 4; ++i) {
            const int row = lane / 4 + 8 * (i / 2);
            const int column = 2 * (lane % 4) + i % 2;
            float sum = 0;
            for (int k = 0; k < 16; ++k) {
                sum += a[row][k] * b[k][column];
            }
            warp.lanes[lane].c[i] += sum;
        }
    }
}

void complete(Warp& warp, Exchange kind) {
    switch (kind) {
        case Exchange::shuffle:
            return shuffle(warp);
        case Exchange::matrices:
        case Exchange::matrices_transposed:
            return load_matrices_of(warp, kind == Exchange::matrices_transposed);
        case Exchange::mma:
            return multiply(warp);
        default:
            return;
    }
}

}  // namespace

void EmulatedBlock::sync() {
    const std::uint64_t before = state_.generation;
    if (++state_.arrived == threads()) {
        state_.arrived = 0;
        ++state_.generation;
        return;
    }
    wait_until_changed(state_.generation, before);
}

void EmulatedBlock::exchange(Exchange kind) {
    Warp& warp = own_warp();
    ORRERY_CHECK(warp.arrived == 0 || warp.exchange == kind);  // lanes must not diverge
    warp.exchange = kind;
    const std::uint64_t before = warp.generation;
    if (++warp.arrived == kWarp) {
        complete(warp, kind);
        warp.arrived = 0;
        ++warp.generation;
        return;
    }
    wait_until_changed(warp.generation, before);
}

void EmulatedBlock::load_matrices(Exchange kind, const void* row, std::uint32_t (&m)[4]) {
    ORRERY_CHECK(reinterpret_cast<std::uintptr_t>(row) % 16 == 0);
    own_lane().row = row;
    exchange(kind);
    std::memcpy(m, own_lane().out, sizeof m);
}

void EmulatedBlock::mma(float (&c)[4],
                        const std::uint32_t (&a)[4],
                        std::uint32_t b0,
                        std::uint32_t b1) {
    Lane& own = own_lane();
    std::memcpy(own.in, a, sizeof a);
    own.in[4] = b0;
    own.in[5] = b1;
    std::memcpy(own.c, c, sizeof c);
    exchange(Exchange::mma);
    std::memcpy(c, own.c, sizeof c);
}

void EmulatedBlock::copy_async(void* shared, const void* global, bool valid) {
    const auto offset = static_cast<std::byte*>(shared) - this->shared();
    ORRERY_CHECK(offset >= 0 && offset + 16 <= state_.geometry.shared_bytes && offset % 16 == 0);
    ORRERY_CHECK(!valid || reinterpret_cast<std::uintptr_t>(global) % 16 == 0);
    std::memset(shared, 0xFF, 16);
    std::memset(&state_.published[static_cast<std::size_t>(offset / 16)], 0xFF, 16);
    groups_.back().push_back({shared, valid ? global : nullptr});
}

void EmulatedBlock::wait_for_groups(int in_flight) {
    while (groups_.size() > static_cast<std::size_t>(in_flight) + 1) {
        for (const Copy& copy : groups_.front()) {
            if (copy.from != nullptr) {
                std::memcpy(copy.to, copy.from, 16);
            } else {
                std::memset(copy.to, 0, 16);
            }
            landed_.push_back(copy.to);
        }
        groups_.erase(groups_.begin());
    }
}

void EmulatedBlock::finish() {
    wait_for_groups(0);
    ORRERY_CHECK(groups_.front().empty());  // a copy without commit()
    ORRERY_CHECK(products_ == Products::none && pending_.empty());
}

void run_block(BlockState& state, ThreadOrder order, const ThreadCode& code) {
    const auto words = static_cast<std::size_t>((state.geometry.shared_bytes + 15) / 16);
    constexpr device::Words kNothing{{kNotANumber, kNotANumber, kNotANumber, kNotANumber}};
    state.shared.assign(words, kNothing);
    state.published.assign(words, kNothing);
    state.warpgroups.assign(static_cast<std::size_t>(state.geometry.threads / device::kWarpgroup),
                            {});
    state.warps.assign(static_cast<std::size_t>(state.geometry.threads / kWarp), {});
    run_fibers(state.geometry.threads, order, [&](int thread) {
        EmulatedBlock block{state, thread};
        code(block);
        block.finish();
    });
}

std::byte* EmulatedQueue::scratch(std::int64_t bytes) {
    scratch_bytes_ = bytes;
    scratch_.assign(static_cast<std::size_t>((bytes + 15) / 16),
                    {{kNotANumber, kNotANumber, kNotANumber, kNotANumber}});
    return reinterpret_cast<std::byte*>(scratch_.data());
}

void EmulatedQueue::check(const device::Geometry& geometry, int threads_max) {
    ORRERY_CHECK(geometry.threads > 0 && geometry.threads <= threads_max);
    ORRERY_CHECK(geometry.threads % kWarp == 0 && geometry.threads <= 1024);
    ORRERY_CHECK(geometry.shared_bytes <= device::kSharedBytesMax);
    ORRERY_CHECK(geometry.blocks_x >= 0 && geometry.blocks_x < (std::int64_t{1} << 31));
    ORRERY_CHECK(geometry.blocks_y >= 0 && geometry.blocks_y < (1 << 16));
}

}  // namespace orrery::emulation
