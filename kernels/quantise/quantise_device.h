// SPDX-License-Identifier: Apache-2.0
// Kernels of kernels/quantise/quantise_cuda.h.
#pragma once

#include <vector>

#include "kernels/cuda/flat.h"
#include "kernels/cuda/reduce.h"
#include "kernels/quantise/quantise_cuda.h"

namespace orrery::device {

inline constexpr int kQuantiseThreads = 256;

// The shards of several tensors, side by side, form a part (kernels/quantise/quantise_cpu.h).
template <class T>
struct ShardList {
    T* data[kQuantisedTensorsMax];
    std::int64_t size[kQuantisedTensorsMax];
    std::int64_t shard[kQuantisedTensorsMax];
    int count = 0;
    int parts = 1;

    // Null for padding.
    ORRERY_DEVICE T* element(std::int64_t part, std::int64_t at) const {
        int tensor = 0;
        while (tensor + 1 < count && at >= shard[tensor]) {
            at -= shard[tensor];
            ++tensor;
        }
        const std::int64_t in_tensor = part * shard[tensor] + at;
        return in_tensor < size[tensor] ? data[tensor] + in_tensor : nullptr;
    }
};

struct LargerBits {
    ORRERY_DEVICE std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
        return a > b ? a : b;
    }
};

// QuantisedVector for device code.
struct DeviceParts {
    std::int64_t elements;
    std::int64_t block;
    std::int64_t blocks;
    std::int64_t part_bytes;
    std::int64_t bytes;
    int bits;

    ORRERY_DEVICE std::int64_t end_of(std::int64_t b) const {
        return (b + 1) * block < elements ? (b + 1) * block : elements;
    }
    ORRERY_DEVICE float value(const std::byte* part, std::int64_t at) const {
        const auto* codes = reinterpret_cast<const std::uint8_t*>(part + 4 * blocks);
        const float scale = reinterpret_cast<const float*>(part)[at / block];
        const std::uint32_t upper = bits == 8 ? std::uint32_t{codes[at]} << 24
                                              : std::uint32_t{codes[at / 2]}
                                                    << (28 - static_cast<int>(at % 2) * 4);
        return static_cast<float>(static_cast<std::int32_t>(upper) >> (32 - bits)) * scale;
    }
    // As in quantise_cpu.cpp: a product and a sum, each rounded.
    ORRERY_DEVICE float sum(const std::byte* vectors,
                            std::int64_t terms,
                            std::int64_t part,
                            std::int64_t at) const {
        float sum = 0.0f;
        for (std::int64_t t = 0; t < terms; ++t) {
            sum = added(sum, value(vectors + t * bytes + part * part_bytes, at));
        }
        return sum;
    }
    ORRERY_DEVICE static float added(float a, float b) {
#ifdef __CUDA_ARCH__
        return __fadd_rn(a, b);
#else
        return a + b;
#endif
    }

    // Writes the codes of one block of elements; all threads of the block must call it. Two codes
    // of 4 bits share a byte, so that one thread computes both.
    template <class Block, class ValueOf>
    ORRERY_DEVICE void encode(Block& block_of_threads,
                              std::int64_t b,
                              std::byte* part,
                              const ValueOf& value_of) const {
        const std::int64_t first = b * block;
        const std::int64_t end = end_of(b);
        std::uint32_t most_bits[1] = {0u};
        for (std::int64_t at = first + block_of_threads.thread(); at < end;
             at += block_of_threads.threads()) {
            most_bits[0] = LargerBits{}(most_bits[0], bits_of(value_of(at)) & 0x7FFFFFFFu);
        }
        reduce_block(block_of_threads, block_of_threads.shared(), most_bits, LargerBits{});
        const auto most = static_cast<float>((1 << (bits - 1)) - 1);
        const float scale = float_of_bits(most_bits[0]) / most;
        if (block_of_threads.thread() == 0) {
            reinterpret_cast<float*>(part)[b] = scale;
        }
        const auto code = [&](std::int64_t at) -> std::uint32_t {
            if (at >= end || !(scale > 0.0f && most_bits[0] < 0x7F800000u)) {
                return 0u;
            }
            const float rounded = rintf(value_of(at) / scale);
            const float kept = rounded > most ? most : rounded < -most ? -most : rounded;
            return static_cast<std::uint32_t>(static_cast<std::int32_t>(kept));
        };
        auto* codes = reinterpret_cast<std::uint8_t*>(part + 4 * blocks);
        const int together = bits == 8 ? 1 : 2;
        for (std::int64_t at = first + block_of_threads.thread() * together; at < end;
             at += block_of_threads.threads() * together) {
            codes[at / together] = static_cast<std::uint8_t>(
                bits == 8 ? code(at) & 0xFFu : (code(at) & 0xFu) | (code(at + 1) & 0xFu) << 4);
        }
        // Clears the unused bytes of the part's last word.
        if (b == blocks - 1) {
            const std::int64_t used = 4 * blocks + (elements * bits + 7) / 8;
            for (std::int64_t i = used + block_of_threads.thread(); i < part_bytes;
                 i += block_of_threads.threads()) {
                part[i] = std::byte{};
            }
        }
    }
};

template <class T>
struct QuantiseKernel {
    static constexpr int kThreadsMax = kQuantiseThreads;
    DeviceParts shape;
    PartOrder order;
    std::byte* codes;
    ShardList<const T> x;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t part = block.y();
        const std::int64_t place = order.place(part, x.parts);
        shape.encode(block, block.x(), codes + place * shape.part_bytes, [&](std::int64_t at) {
            const T* element = x.element(part, at);
            return element == nullptr ? 0.0f : widen(*element);
        });
    }
};

struct RequantiseKernel {
    static constexpr int kThreadsMax = kQuantiseThreads;
    DeviceParts shape;
    std::int64_t terms;
    const std::byte* codes;
    std::byte* sum;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t part = block.y();
        shape.encode(block, block.x(), sum + part * shape.part_bytes, [&](std::int64_t at) {
            return shape.sum(codes, terms, part, at);
        });
    }
};

template <class T>
struct DequantiseKernel {
    static constexpr int kThreadsMax = kQuantiseThreads;
    DeviceParts shape;
    std::int64_t terms;
    const std::byte* codes;
    bool adds;
    ShardList<T> y;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t part = block.y();
        const std::int64_t end = shape.end_of(block.x());
        for (std::int64_t at = block.x() * shape.block + block.thread(); at < end;
             at += block.threads()) {
            T* element = y.element(part, at);
            if (element != nullptr) {
                const float sum = shape.sum(codes, terms, part, at);
                narrow(adds ? DeviceParts::added(widen(*element), sum) : sum, *element);
            }
        }
    }
};

namespace detail {

inline DeviceParts device_parts(const QuantisedVector& shape) {
    // A block of threads must write whole bytes.
    ORRERY_CHECK(shape.block * shape.bits % 8 == 0);
    return {.elements = shape.elements,
            .block = shape.block,
            .blocks = shape.blocks(),
            .part_bytes = shape.part_bytes(),
            .bytes = shape.bytes(),
            .bits = shape.bits};
}

inline Geometry quantise_geometry(const QuantisedVector& shape) {
    return {.blocks_x = shape.blocks(),
            .blocks_y = shape.parts,
            .threads = kQuantiseThreads,
            .shared_bytes = kReduceBytes<std::uint32_t, 1>};
}

template <class T, class View>
ShardList<T> shard_list(const QuantisedVector& shape, std::span<const View> tensors) {
    ORRERY_CHECK(tensors.size() <= kQuantisedTensorsMax);
    ShardList<T> list{};
    for (const View& tensor : tensors) {
        ORRERY_CHECK(tensor.dtype == tensors.front().dtype);
        list.data[list.count] = reinterpret_cast<T*>(tensor.data);
        list.size[list.count] = tensor.size;
        list.shard[list.count] = (tensor.size + shape.parts - 1) / shape.parts;
        ++list.count;
    }
    list.parts = static_cast<int>(shape.parts);
    return list;
}

}  // namespace detail

template <class Queue>
void quantise(Queue& queue,
              const QuantisedVector& shape,
              PartOrder order,
              std::span<const ConstTensorView> x,
              TensorView codes) {
    for_dtype(x.front().dtype, [&]<class T>(T*) {
        queue.launch(QuantiseKernel<T>{.shape = detail::device_parts(shape),
                                       .order = order,
                                       .codes = codes.data,
                                       .x = detail::shard_list<const T>(shape, x)},
                     detail::quantise_geometry(shape));
    });
}

template <class Queue>
void requantise(Queue& queue,
                const QuantisedVector& shape,
                std::int64_t terms,
                ConstTensorView codes,
                TensorView sum) {
    queue.launch(RequantiseKernel{.shape = detail::device_parts(shape),
                                  .terms = terms,
                                  .codes = codes.data,
                                  .sum = sum.data},
                 detail::quantise_geometry(shape));
}

template <class Queue>
void dequantise(Queue& queue,
                const QuantisedVector& shape,
                std::int64_t terms,
                ConstTensorView codes,
                std::span<const TensorView> y,
                bool adds) {
    for_dtype(y.front().dtype, [&]<class T>(T*) {
        queue.launch(DequantiseKernel<T>{.shape = detail::device_parts(shape),
                                         .terms = terms,
                                         .codes = codes.data,
                                         .adds = adds,
                                         .y = detail::shard_list<T>(shape, y)},
                     detail::quantise_geometry(shape));
    });
}

}  // namespace orrery::device
