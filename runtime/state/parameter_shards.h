// SPDX-License-Identifier: Apache-2.0
// The part of every parameter that a rank holds, and the part whose optimizer state it keeps, from
// the layouts of its tensors (engine/program/program.h, Placement::flat). Parts are contiguous
// elements of a parameter, one per rank, of equal length (the last may be shorter or empty).
#pragma once

#include <cstdint>

#include "engine/program/program.h"

namespace orrery {

struct ElementRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool operator==(const ElementRange&) const = default;
};

// Part `position` of `parts` of the elements. All but the last have ceil(elements / parts)
// elements.
ElementRange shard_range(std::int64_t elements, std::int64_t parts, std::int64_t position);

class ParameterShards {
public:
    // The Program must outlive this object.
    ParameterShards(const Program& program, RankId rank);

    // The range of a tensor's elements in memory that this rank updates, by its step layout: all of
    // them if no other rank shares the work.
    ElementRange own(TensorId tensor) const;
    // The same for a gradient in the sum of its norm. It is empty if another rank in the sum counts
    // the same elements: of copies along a mesh digit coordinate 0 counts, and of copies on several
    // pipeline stages (a tied embedding) the first.
    ElementRange own_in_norm(TensorId gradient) const;
    // Whether no rank with smaller coordinates along these mesh digits updates the same elements of
    // a weight or gradient. Stages have different tensors.
    bool counts(const Tensor& tensor, RankId rank, std::uint32_t digits) const;
    // The range of the parameter's rank-local elements that a tensor holds. Under ZeRO 3 it is a
    // shard; the rest of the tensor is padding.
    ElementRange stored(const Tensor& weight) const;
    ElementRange stored(TensorId weight) const { return stored(program_.tensors[index(weight)]); }

private:
    bool is_copy(const Tensor& gradient) const;

    const Program& program_;
    RankId rank_;
    std::uint32_t norm_digits_ = 0;  // mesh digits over which the gradient norm is summed
};

}  // namespace orrery
