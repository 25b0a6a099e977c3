// SPDX-License-Identifier: Apache-2.0
// Elements of tensors in device code: fp32 and bf16, one by one or 16 bytes at a time. Arithmetic
// is in fp32. Rounding has the same bits as kernels/tensor_view.h (to nearest, ties to even).
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/block.h"
#include "kernels/tensor_view.h"

namespace orrery::device {

struct Bf16 {
    std::uint16_t bits;
};

template <class T>
inline constexpr Dtype kDtypeOf = Dtype::fp32;
template <>
inline constexpr Dtype kDtypeOf<Bf16> = Dtype::bf16;

// Elements of one 16-byte access.
template <class T>
inline constexpr int kPack = static_cast<int>(16 / sizeof(T));

ORRERY_HOST_DEVICE std::uint32_t bits_of(float value) {
#ifdef __CUDA_ARCH__
    return __float_as_uint(value);
#else
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
#endif
}

ORRERY_HOST_DEVICE float float_of_bits(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
    return __uint_as_float(bits);
#else
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
#endif
}

// a b + c, rounded once.
ORRERY_HOST_DEVICE float fused(float a, float b, float c) {
#ifdef __CUDA_ARCH__
    return __fmaf_rn(a, b, c);
#else
    return std::fma(a, b, c);
#endif
}

// Two bf16 in one word, `low` in the lower half.
ORRERY_HOST_DEVICE std::uint32_t pack_bf16(float low, float high) {
#ifdef __CUDA_ARCH__
    std::uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    return bf16_of_float(low) | static_cast<std::uint32_t>(bf16_of_float(high)) << 16;
#endif
}
ORRERY_HOST_DEVICE float low_of(std::uint32_t word) {
    return float_of_bits(word << 16);
}
ORRERY_HOST_DEVICE float high_of(std::uint32_t word) {
    return float_of_bits(word & 0xFFFF0000u);
}

ORRERY_HOST_DEVICE float widen(float value) {
    return value;
}
ORRERY_HOST_DEVICE float widen(Bf16 value) {
    return float_of_bits(static_cast<std::uint32_t>(value.bits) << 16);
}
ORRERY_HOST_DEVICE void narrow(float value, float& to) {
    to = value;
}
ORRERY_HOST_DEVICE void narrow(float value, Bf16& to) {
    to.bits = static_cast<std::uint16_t>(pack_bf16(value, 0.0f) & 0xFFFFu);
}
// The value after storing it as T.
template <class T>
ORRERY_HOST_DEVICE float rounded(float value) {
    T stored;
    narrow(value, stored);
    return widen(stored);
}

ORRERY_HOST_DEVICE void unpack(const Words& from, const float*, float (&to)[4]) {
    for (int i = 0; i < 4; ++i) {
        to[i] = float_of_bits(from.w[i]);
    }
}
ORRERY_HOST_DEVICE void unpack(const Words& from, const Bf16*, float (&to)[8]) {
    for (int i = 0; i < 4; ++i) {
        to[2 * i] = low_of(from.w[i]);
        to[2 * i + 1] = high_of(from.w[i]);
    }
}
ORRERY_HOST_DEVICE Words packed(const float (&from)[4], const float*) {
    return {{bits_of(from[0]), bits_of(from[1]), bits_of(from[2]), bits_of(from[3])}};
}
ORRERY_HOST_DEVICE Words packed(const float (&from)[8], const Bf16*) {
    return {{pack_bf16(from[0], from[1]),
             pack_bf16(from[2], from[3]),
             pack_bf16(from[4], from[5]),
             pack_bf16(from[6], from[7])}};
}

// The 16 bytes at `from`, 16-byte aligned, in one access: nvcc splits the load of a struct into
// four.
template <class T>
ORRERY_HOST_DEVICE Words words_at(const T* from) {
#ifdef __CUDA_ARCH__
    const uint4 all = *reinterpret_cast<const uint4*>(from);
    return {{all.x, all.y, all.z, all.w}};
#else
    return *reinterpret_cast<const Words*>(from);
#endif
}
// The same for a store to global memory. It names the instruction because nvcc splits some stores.
template <class T>
ORRERY_HOST_DEVICE void put_words(T* to, const Words& words) {
#ifdef __CUDA_ARCH__
    __stwb(reinterpret_cast<uint4*>(to),
           make_uint4(words.w[0], words.w[1], words.w[2], words.w[3]));
#else
    *reinterpret_cast<Words*>(to) = words;
#endif
}
ORRERY_HOST_DEVICE void put_shared_words(std::byte* to, const Words& words) {
#ifdef __CUDA_ARCH__
    *reinterpret_cast<uint4*>(to) = make_uint4(words.w[0], words.w[1], words.w[2], words.w[3]);
#else
    *reinterpret_cast<Words*>(to) = words;
#endif
}

// kCount consecutive elements in their stored form, so that many loads can be in flight. Loads are
// 16 bytes wide if kCount is a multiple of kPack (`from` must then be 16-byte aligned), else
// element by element.
template <class T, int kCount>
struct RawElements {
    static constexpr bool kWide = kCount % kPack<T> == 0;
    static constexpr int kParts = kWide ? kCount / kPack<T> : kCount;
    std::conditional_t<kWide, Words, T> parts[static_cast<std::size_t>(kParts)];

    ORRERY_HOST_DEVICE void read(const T* from) {
        ORRERY_UNROLL
        for (int i = 0; i < kParts; ++i) {
            if constexpr (kWide) {
                parts[i] = words_at(from + i * kPack<T>);
            } else {
                parts[i] = from[i];
            }
        }
    }
    ORRERY_HOST_DEVICE void widen_to(float (&to)[kCount]) const {
        ORRERY_UNROLL
        for (int i = 0; i < kParts; ++i) {
            if constexpr (kWide) {
                float part[kPack<T>];
                unpack(parts[i], static_cast<const T*>(nullptr), part);
                ORRERY_UNROLL
                for (int j = 0; j < kPack<T>; ++j) {
                    to[i * kPack<T> + j] = part[j];
                }
            } else {
                to[i] = widen(parts[i]);
            }
        }
    }
};

template <class T, int kCount>
ORRERY_HOST_DEVICE void load(const T* from, float (&to)[kCount]) {
    RawElements<T, kCount> raw;
    raw.read(from);
    raw.widen_to(to);
}
template <class T, int kCount>
ORRERY_HOST_DEVICE void store(T* to, const float (&from)[kCount]) {
    if constexpr (kCount % kPack<T> == 0) {
        for (int i = 0; i < kCount; i += kPack<T>) {
            float part[kPack<T>];
            for (int j = 0; j < kPack<T>; ++j) {
                part[j] = from[i + j];
            }
            put_words(to + i, packed(part, to));
        }
    } else {
        for (int i = 0; i < kCount; ++i) {
            narrow(from[i], to[i]);
        }
    }
}

// Elements whose type is known at run time: weights and their gradients, whose dtype may differ
// from the activations'. Null: absent.
struct Elements {
    std::byte* data = nullptr;
    bool bf16 = false;

    ORRERY_HOST_DEVICE bool present() const { return data != nullptr; }
    ORRERY_HOST_DEVICE float at(std::int64_t i) const {
        return bf16 ? widen(reinterpret_cast<const Bf16*>(data)[i])
                    : reinterpret_cast<const float*>(data)[i];
    }
    ORRERY_HOST_DEVICE void set(std::int64_t i, float value) const {
        if (bf16) {
            narrow(value, reinterpret_cast<Bf16*>(data)[i]);
        } else {
            reinterpret_cast<float*>(data)[i] = value;
        }
    }
    // Reads kCount elements from `first` on. If kCount is a multiple of 8, they must be 16-byte
    // aligned, also in the next two functions.
    template <int kCount>
    ORRERY_HOST_DEVICE void read(std::int64_t first, float (&to)[kCount]) const {
        if (bf16) {
            load(reinterpret_cast<const Bf16*>(data) + first, to);
        } else {
            load(reinterpret_cast<const float*>(data) + first, to);
        }
    }
    template <int kCount>
    ORRERY_HOST_DEVICE void write(std::int64_t first, const float (&from)[kCount]) const {
        if (bf16) {
            store(reinterpret_cast<Bf16*>(data) + first, from);
        } else {
            store(reinterpret_cast<float*>(data) + first, from);
        }
    }
    template <int kCount>
    ORRERY_HOST_DEVICE void add(std::int64_t first, const float (&more)[kCount]) const {
        float sums[kCount];
        read(first, sums);
        for (int i = 0; i < kCount; ++i) {
            sums[i] += more[i];
        }
        write(first, sums);
    }
};

}  // namespace orrery::device
