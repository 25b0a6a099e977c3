// SPDX-License-Identifier: Apache-2.0
// Quantisation to codes of 8 or 4 bits with an fp32 scale for each block of elements (Dettmers et
// al., 8-bit optimizers, ICLR 2022, section 2.1), and back. A *part* is one rank's share of a
// vector: its scales, then its codes. ZeRO++ (Wang et al. 2023, sections 3.1 and 3.3) gathers
// weights and exchanges gradients in this form.
//   quantise:   dims = {parts, elements, block, inside, below}; the parts of x … in the order of
//               PartOrder
//   requantise: dims = {parts, elements, block, terms}; the sum of `terms` vectors, quantised again
//   dequantise: dims = {parts, elements, block, terms}; the sum of `terms` vectors as elements
// dtype = of the elements that are not codes (requantise: fp32); variant = bits of a code.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

struct QuantisedVector {
    std::int64_t parts = 1;
    std::int64_t elements = 0;  // per part
    std::int64_t block = 1;  // elements that share a scale; the last block of a part may be shorter
    int bits = 8;

    std::int64_t blocks() const { return (elements + block - 1) / block; }  // per part
    std::int64_t scale_bytes() const { return blocks() * size_bytes(Dtype::fp32); }
    // Rounded up to whole words, so that the scales of the next part are aligned.
    std::int64_t part_bytes() const {
        const std::int64_t codes = (elements * bits + 7) / 8;
        return scale_bytes() + (codes + 3) / 4 * 4;
    }
    std::int64_t bytes() const { return parts * part_bytes(); }
    bool operator==(const QuantisedVector&) const = default;
};

// The order of parts in a vector that is sent in two hops, first between the `inside` ranks of a
// group: the data for each of these ranks are contiguous. The index of a part has three digits:
// below the group's, the group's, above it.
struct PartOrder {
    std::int64_t inside = 1;
    std::int64_t below = 1;

    constexpr std::int64_t place(std::int64_t part, std::int64_t parts) const {
        const std::int64_t low = part % below;
        const std::int64_t of_group = part / below % inside;
        const std::int64_t high = part / (below * inside);
        return of_group * (parts / inside) + high * below + low;
    }
};

inline QuantisedVector quantised_vector(const KernelCall& call) {
    return {.parts = call.dims[0],
            .elements = call.dims[1],
            .block = call.dims[2],
            .bits = call.variant};
}

namespace detail {

inline KernelCall quantised_call(KernelKind kind,
                                 const QuantisedVector& v,
                                 Dtype dtype,
                                 std::int64_t dim3,
                                 std::int64_t dim4,
                                 double flop,
                                 std::int64_t bytes) {
    return memory_bound_call(
        kind, dtype, v.bits, {v.parts, v.elements, v.block, dim3, dim4}, flop, bytes);
}

}  // namespace detail

inline KernelCall quantise(const QuantisedVector& v, PartOrder order, Dtype from) {
    const std::int64_t elements = v.parts * v.elements;
    return detail::quantised_call(KernelKind::quantise,
                                  v,
                                  from,
                                  order.inside,
                                  order.below,
                                  3.0 * static_cast<double>(elements),
                                  elements * size_bytes(from) + v.bytes());
}

inline KernelCall requantise(const QuantisedVector& v, std::int64_t terms) {
    return detail::quantised_call(KernelKind::requantise,
                                  v,
                                  Dtype::fp32,
                                  terms,
                                  0,
                                  element_count(v.parts * v.elements, 2 * terms + 3),
                                  (terms + 1) * v.bytes());
}

inline KernelCall dequantise(const QuantisedVector& v, std::int64_t terms, Dtype to) {
    const std::int64_t elements = v.parts * v.elements;
    return detail::quantised_call(KernelKind::dequantise,
                                  v,
                                  to,
                                  terms,
                                  0,
                                  element_count(elements, 2 * terms),
                                  terms * v.bytes() + elements * size_bytes(to));
}

}  // namespace orrery
