// SPDX-License-Identifier: Apache-2.0
// The encoding of elements while they travel: a dtype and, if it is quantised, blocks with one fp32
// scale each (Dettmers et al., 8-bit optimizers, ICLR 2022, section 2.1).
#pragma once

#include <compare>
#include <cstdint>

#include "engine/base/units.h"
#include "engine/program/kernel_call.h"

namespace orrery {

struct Codec {
    constexpr Codec(Dtype in = Dtype::bf16, std::int64_t elements_of_block = 0)
        : dtype(in), block(elements_of_block) {}

    Dtype dtype = Dtype::bf16;
    std::int64_t block = 0;  // elements that share a scale; 0: no scales
    auto operator<=>(const Codec&) const = default;

    Bytes bytes(std::int64_t elements) const {
        const std::int64_t scales = block > 0 ? (elements + block - 1) / block : 0;
        return Bytes{elements * size_bytes(dtype) + scales * size_bytes(Dtype::fp32)};
    }
};

}  // namespace orrery
