// SPDX-License-Identifier: Apache-2.0
// A tensor in memory for the CPU kernels: bytes with an element type, without a shape, which each
// kernel derives from its call. CPU kernels compute in fp32. Elements of bf16 tensors are widened
// when read, and rounded to nearest, ties to even, when written. Views own no memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/base/check.h"
#include "engine/program/kernel_call.h"

namespace orrery {

// `size` counts elements. A default view is empty: an absent optional operand.
struct ConstTensorView {
    const std::byte* data = nullptr;
    Dtype dtype = Dtype::fp32;
    std::int64_t size = 0;
    bool empty() const { return size == 0; }
};

struct TensorView {
    std::byte* data = nullptr;
    Dtype dtype = Dtype::fp32;
    std::int64_t size = 0;
    bool empty() const { return size == 0; }
    // Implicit, because every writable tensor is readable.
    operator ConstTensorView() const { return {data, dtype, size}; }  // NOLINT(*-explicit-*)
};

inline float float_of_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t bf16_of_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7FFFu + (bits >> 16 & 1u);
    const std::uint32_t quiet_nan = bits | 0x400000u;  // rounding could turn a NaN into infinity
    const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    return static_cast<std::uint16_t>((is_nan ? quiet_nan : rounded) >> 16);
}

// Bits of the element `i` of a bf16 tensor.
inline std::uint16_t bf16_at(ConstTensorView tensor, std::int64_t i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, tensor.data + 2 * i, 2);
    return bits;
}

// Element `i` of an fp32 or bf16 tensor; 0 <= i < size is not checked.
inline float load(ConstTensorView tensor, std::int64_t i) {
    if (tensor.dtype == Dtype::bf16) {
        return float_of_bf16(bf16_at(tensor, i));
    }
    float value = 0;
    std::memcpy(&value, tensor.data + 4 * i, 4);
    return value;
}

inline void store(TensorView tensor, std::int64_t i, float value) {
    if (tensor.dtype == Dtype::bf16) {
        const std::uint16_t bits = bf16_of_float(value);
        std::memcpy(tensor.data + 2 * i, &bits, 2);
    } else {
        std::memcpy(tensor.data + 4 * i, &value, 4);
    }
}

// Views `count` elements from `first` on. Asserts that they are in the tensor.
inline ConstTensorView slice(ConstTensorView tensor, std::int64_t first, std::int64_t count) {
    ORRERY_CHECK(first >= 0 && count >= 0 && first + count <= tensor.size);
    return {tensor.data + first * size_bytes(tensor.dtype), tensor.dtype, count};
}
inline TensorView slice(TensorView tensor, std::int64_t first, std::int64_t count) {
    ORRERY_CHECK(first >= 0 && count >= 0 && first + count <= tensor.size);
    return {tensor.data + first * size_bytes(tensor.dtype), tensor.dtype, count};
}

// Reads or writes consecutive elements from `first` on, with conversion to or from fp32.
void load_row(ConstTensorView tensor, std::int64_t first, std::span<float> into);
void store_row(TensorView tensor, std::int64_t first, std::span<const float> from);

// Tensors of 4-byte types as spans. Asserts that the element type is the span's.
inline std::span<float> floats(TensorView tensor) {
    ORRERY_CHECK(tensor.dtype == Dtype::fp32);
    return {reinterpret_cast<float*>(tensor.data), static_cast<std::size_t>(tensor.size)};
}
inline std::span<const float> floats(ConstTensorView tensor) {
    ORRERY_CHECK(tensor.dtype == Dtype::fp32);
    return {reinterpret_cast<const float*>(tensor.data), static_cast<std::size_t>(tensor.size)};
}
inline std::span<const std::int32_t> ids(ConstTensorView tensor) {
    ORRERY_CHECK(tensor.dtype == Dtype::int32);
    return {reinterpret_cast<const std::int32_t*>(tensor.data),
            static_cast<std::size_t>(tensor.size)};
}

// Views of plain arrays.
inline TensorView view_of(std::span<float> values) {
    return {reinterpret_cast<std::byte*>(values.data()),
            Dtype::fp32,
            static_cast<std::int64_t>(values.size())};
}
inline ConstTensorView const_view_of(std::span<const float> values) {
    return {reinterpret_cast<const std::byte*>(values.data()),
            Dtype::fp32,
            static_cast<std::int64_t>(values.size())};
}
inline ConstTensorView view_of(std::span<const std::int32_t> values) {
    return {reinterpret_cast<const std::byte*>(values.data()),
            Dtype::int32,
            static_cast<std::int64_t>(values.size())};
}

}  // namespace orrery
