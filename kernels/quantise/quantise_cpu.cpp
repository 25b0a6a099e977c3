// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantise/quantise_cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/quantise/quantise_kernels.h"

namespace orrery::cpu {
namespace {

// The largest magnitude. Infinities and NaNs win, because their bits are the largest.
float largest_magnitude(std::span<const float> values) {
    std::uint32_t bits = 0;
    for (const float value : values) {
        bits = std::max(bits, std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu);
    }
    return std::bit_cast<float>(bits);
}

// The code as a signed integer; zero if the scale is not a positive finite number.
std::int32_t code_of(float value, float scale, float most) {
    if (!(scale > 0 && scale < std::numeric_limits<float>::infinity())) {
        return 0;
    }
    return static_cast<std::int32_t>(std::clamp(std::nearbyintf(value / scale), -most, most));
}

void encode(const QuantisedVector& shape, std::span<const float> values, std::byte* part) {
    const auto most = static_cast<float>((1 << (shape.bits - 1)) - 1);
    std::byte* const codes = part + shape.scale_bytes();
    std::fill(codes, part + shape.part_bytes(), std::byte{});
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
        const std::int64_t first = b * shape.block;
        const auto block =
            values.subspan(static_cast<std::size_t>(first),
                           static_cast<std::size_t>(std::min(shape.block, shape.elements - first)));
        const float scale = largest_magnitude(block) / most;
        std::memcpy(part + 4 * b, &scale, 4);
        for (std::size_t i = 0; i < block.size(); ++i) {
            const auto code = static_cast<std::uint32_t>(code_of(block[i], scale, most));
            const std::int64_t at = first + static_cast<std::int64_t>(i);
            if (shape.bits == 8) {
                codes[at] = static_cast<std::byte>(code & 0xFFu);
            } else {
                codes[at / 2] |= static_cast<std::byte>((code & 0xFu) << (at % 2 * 4));
            }
        }
    }
}

// Adds the values of a part to `values`, or sets them for the first term.
void decode(const QuantisedVector& shape,
            const std::byte* part,
            bool first_term,
            std::span<float> values) {
    const std::byte* const codes = part + shape.scale_bytes();
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
        float scale = 0;
        std::memcpy(&scale, part + 4 * b, 4);
        const std::int64_t end = std::min((b + 1) * shape.block, shape.elements);
        for (std::int64_t at = b * shape.block; at < end; ++at) {
            // The code is in the upper bits; the shift down extends its sign.
            const std::uint32_t upper = shape.bits == 8
                                            ? std::to_integer<std::uint32_t>(codes[at]) << 24
                                            : std::to_integer<std::uint32_t>(codes[at / 2])
                                                  << (28 - at % 2 * 4);
            const std::int32_t code = static_cast<std::int32_t>(upper) >> (32 - shape.bits);
            float& value = values[static_cast<std::size_t>(at)];
            value = (first_term ? 0.0f : value) + static_cast<float>(code) * scale;
        }
    }
}

// The sum over all terms of part `part`.
void decode_sum(const QuantisedVector& shape,
                std::int64_t terms,
                std::int64_t part,
                ConstTensorView codes,
                std::span<float> sum) {
    for (std::int64_t t = 0; t < terms; ++t) {
        decode(shape, codes.data + t * shape.bytes() + part * shape.part_bytes(), t == 0, sum);
    }
}

// Calls work(tensor, first, count, place) for each tensor's shard of a part: `count` elements from
// `first` on are at offset `place` of the part.
template <class View, class Work>
void for_shards(const QuantisedVector& shape,
                std::int64_t part,
                std::span<const View> tensors,
                const Work& work) {
    std::int64_t place = 0;
    for (const View& tensor : tensors) {
        const std::int64_t shard = (tensor.size + shape.parts - 1) / shape.parts;
        const std::int64_t first = std::min(tensor.size, part * shard);
        work(tensor, first, std::min(shard, tensor.size - first), static_cast<std::size_t>(place));
        place += shard;
    }
    ORRERY_CHECK(place == shape.elements);
}

}  // namespace

void quantise(const QuantisedVector& shape,
              PartOrder order,
              std::span<const ConstTensorView> x,
              TensorView codes) {
    ORRERY_CHECK(codes.size * size_bytes(codes.dtype) == shape.bytes());
    std::vector<float> values(static_cast<std::size_t>(shape.elements));
    for (std::int64_t part = 0; part < shape.parts; ++part) {
        std::ranges::fill(values, 0.0f);
        for_shards(
            shape, part, x, [&](const auto& tensor, auto first, auto count, std::size_t place) {
                load_row(tensor,
                         first,
                         std::span{values}.subspan(place, static_cast<std::size_t>(count)));
            });
        encode(shape, values, codes.data + order.place(part, shape.parts) * shape.part_bytes());
    }
}

void requantise(const QuantisedVector& shape,
                std::int64_t terms,
                ConstTensorView codes,
                TensorView sum) {
    ORRERY_CHECK(codes.size * size_bytes(codes.dtype) == terms * shape.bytes());
    ORRERY_CHECK(sum.size * size_bytes(sum.dtype) == shape.bytes());
    std::vector<float> values(static_cast<std::size_t>(shape.elements));
    for (std::int64_t part = 0; part < shape.parts; ++part) {
        decode_sum(shape, terms, part, codes, values);
        encode(shape, values, sum.data + part * shape.part_bytes());
    }
}

void dequantise(const QuantisedVector& shape,
                std::int64_t terms,
                ConstTensorView codes,
                std::span<const TensorView> y,
                bool adds) {
    ORRERY_CHECK(codes.size * size_bytes(codes.dtype) == terms * shape.bytes());
    std::vector<float> values(static_cast<std::size_t>(shape.elements));
    std::vector<float> held;
    for (std::int64_t part = 0; part < shape.parts; ++part) {
        decode_sum(shape, terms, part, codes, values);
        for_shards(
            shape, part, y, [&](const auto& tensor, auto first, auto count, std::size_t place) {
                const auto row = std::span{values}.subspan(place, static_cast<std::size_t>(count));
                if (adds) {
                    held.resize(row.size());
                    load_row(tensor, first, held);
                    std::ranges::transform(held, row, row.begin(), std::plus{});
                }
                store_row(tensor, first, row);
            });
    }
}

}  // namespace orrery::cpu

namespace orrery::kernel {

void Quantise::run(const KernelArguments& op) {
    std::vector<ConstTensorView> x;
    for (const BoundOperand& operand : op.reads) {
        x.push_back(operand.view);
    }
    cpu::quantise(quantised_vector(op.call), part_order(op.call), x, op.writes[0].view);
}

void Requantise::run(const KernelArguments& op) {
    cpu::requantise(
        quantised_vector(op.call), op.call.dims[3], op.reads[0].view, op.writes[0].view);
}

void Dequantise::run(const KernelArguments& op) {
    const bool adds = op.writes.empty();
    std::vector<TensorView> y;
    for (const BoundOperand& operand : adds ? op.accumulates : op.writes) {
        y.push_back(operand.view);
    }
    cpu::dequantise(quantised_vector(op.call), op.call.dims[3], op.reads[0].view, y, adds);
}

}  // namespace orrery::kernel
