// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/emulation/emulated_warpgroup.h"

#include <algorithm>

#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/emulation/fibers.h"

namespace orrery::emulation {
namespace {

using device::kWarp;

constexpr int kRows = 64;
constexpr int kDepth = 16;

// Bits first ... first + 13 of a descriptor, in bytes.
std::int64_t field(std::uint64_t descriptor, int first) {
    return static_cast<std::int64_t>((descriptor >> first & 0x3FFF) << 4);
}

float element(const BlockState& state, std::uint64_t descriptor, Major major, int mn, int k) {
    const std::int64_t at = element_address(descriptor, major, mn, k);
    ORRERY_CHECK(at + 2 <= state.geometry.shared_bytes);
    std::uint16_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const std::byte*>(state.published.data()) + at, 2);
    return device::widen(device::Bf16{bits});
}

// PTX ISA, register fragments of wgmma.mma_async.m64nNk16: warp w has rows 16 w ..., and with
// g = lane / 4, t = lane % 4 its A and its sums lie as those of mma.m16n8k16 do.
void a_of_registers(const Warpgroup& group, float (&a)[kRows][kDepth]) {
    for (int thread = 0; thread < device::kWarpgroup; ++thread) {
        const int row = thread / kWarp * 16 + thread % kWarp / 4;
        const int column = 2 * (thread % 4);
        for (int i = 0; i < 4; ++i) {
            const std::uint32_t word = group.lanes[thread].a[i];
            a[row + 8 * (i % 2)][column + 8 * (i / 2)] = device::low_of(word);
            a[row + 8 * (i % 2)][column + 8 * (i / 2) + 1] = device::high_of(word);
        }
    }
}

void multiply_all(const BlockState& state, const Warpgroup& group, int columns) {
    const WarpgroupLane& first = group.lanes[0];
    const bool shared = first.a_descriptor != 0;
    for (const WarpgroupLane& lane : group.lanes) {
        ORRERY_CHECK(lane.a_descriptor == first.a_descriptor &&
                     lane.b_descriptor == first.b_descriptor);
    }
    float a[kRows][kDepth];
    if (shared) {
        for (int i = 0; i < kRows * kDepth; ++i) {
            a[i / kDepth][i % kDepth] =
                element(state, first.a_descriptor, Major::k, i / kDepth, i % kDepth);
        }
    } else {
        a_of_registers(group, a);
    }
    const Major major = shared ? Major::k : Major::mn;
    std::vector<float> b(static_cast<std::size_t>(columns * kDepth));
    for (int i = 0; i < columns * kDepth; ++i) {
        b[static_cast<std::size_t>(i)] =
            element(state, first.b_descriptor, major, i / kDepth, i % kDepth);
    }
    for (int thread = 0; thread < device::kWarpgroup; ++thread) {
        const int row = thread / kWarp * 16 + thread % kWarp / 4;
        for (int i = 0; i < columns / 2; ++i) {
            const float* x = a[row + 8 * (i / 2 % 2)];
            const float* y =
                &b[static_cast<std::size_t>((i / 4 * 8 + 2 * (thread % 4) + i % 2) * kDepth)];
            float sum = 0;
            for (int k = 0; k < kDepth; ++k) {
                sum += x[k] * y[k];
            }
            group.lanes[thread].sums[i] += sum;
        }
    }
}

}  // namespace

// PTX ISA, "Matrix Descriptor Format" and "Strides", swizzling over 128 bytes, atoms of 8 x 128
// bytes. K-major: 8 rows (mn) of an atom; the stride offset to the next 8. MN-major: 8 values of k
// in rows of 64 elements (mn); the stride offset to the next 8 values of k, the leading one to the
// next 64 elements. Then bits 4-6 of the address are XORed with bits 7-9.
std::int64_t element_address(std::uint64_t descriptor, Major major, int mn, int k) {
    ORRERY_CHECK(descriptor >> 62 == 1);          // 128-byte swizzling
    ORRERY_CHECK((descriptor >> 49 & 0x7) == 0);  // atoms are 1024-byte aligned
    const std::int64_t leading = field(descriptor, 16);
    const std::int64_t stride = field(descriptor, 32);
    std::int64_t at = field(descriptor, 0);
    if (major == Major::k) {
        at += mn / 8 * stride + mn % 8 * 128 + 2 * k;
    } else {
        at += mn / 64 * leading + k / 8 * stride + k % 8 * 128 + mn % 64 * 2;
    }
    return at ^ ((at >> 7 & 7) << 4);
}

void EmulatedBlock::publish_to_products() {
    for (const void* piece : landed_) {
        const auto offset = static_cast<const std::byte*>(piece) - shared();
        std::memcpy(&state_.published[static_cast<std::size_t>(offset / 16)], piece, 16);
    }
    landed_.clear();
}

void EmulatedBlock::begin_products() {
    products_ = Products::begun;
}

void EmulatedBlock::multiply(float* c, int tiles, const WarpgroupLane& operands) {
    ORRERY_CHECK(products_ == Products::begun);
    const auto count = static_cast<std::size_t>(4 * tiles);
    auto own = std::ranges::find_if(pending_, [&](const auto& sums) { return sums->to == c; });
    if (own == pending_.end()) {
        pending_.push_back(std::make_unique<PendingSums>(
            PendingSums{.to = c, .values = std::vector<float>(c, c + count)}));
        own = std::prev(pending_.end());
        std::fill(c, c + count, std::numeric_limits<float>::quiet_NaN());
    }
    Warpgroup& group = state_.warpgroups[static_cast<std::size_t>(thread_ / device::kWarpgroup)];
    WarpgroupLane& lane = group.lanes[thread_ % device::kWarpgroup];
    lane = operands;
    lane.sums = (*own)->values.data();
    const std::uint64_t before = group.generation;
    if (++group.arrived == device::kWarpgroup) {
        multiply_all(state_, group, 8 * tiles);
        group.arrived = 0;
        ++group.generation;
        return;
    }
    wait_until_changed(group.generation, before);
}

void EmulatedBlock::end_products() {
    ORRERY_CHECK(products_ == Products::begun);
    products_ = Products::ended;
}

void EmulatedBlock::wait_for_products() {
    ORRERY_CHECK(products_ == Products::ended);
    for (const auto& sums : pending_) {
        std::ranges::copy(sums->values, sums->to);
    }
    pending_.clear();
    products_ = Products::none;
}

}  // namespace orrery::emulation
