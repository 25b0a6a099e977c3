// SPDX-License-Identifier: Apache-2.0
// Which part of every parameter a rank holds, and of which it keeps the optimizer's state: what the
// layouts of its tensors say (engine/program/program.h, Placement::flat). Parts are a parameter's
// elements in order, cut into equal ones (the last shorter or empty), one a rank.
#pragma once

#include <cstdint>

#include "engine/program/program.h"

namespace orrery {

struct ElementRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool operator==(const ElementRange&) const = default;
};

// Part `position` of `parts` of the elements; all but the last are ceil(elements / parts) long.
ElementRange shard_range(std::int64_t elements, std::int64_t parts, std::int64_t position);

class ParameterShards {
public:
    // The Program must outlive the shards.
    ParameterShards(const Program& program, RankId rank);

    // The range of a tensor's elements in memory that this rank updates, by its step layout: all of
    // them if no other rank shares the work.
    ElementRange own(TensorId tensor) const;
    // The same of a gradient, but empty where another rank that takes part in the sum of the norm
    // has the very same elements: copies along a mesh digit count where their coordinate is 0, and
    // of copies on several pipeline stages (a tied embedding) the first.
    ElementRange own_in_norm(TensorId gradient) const;
    // Whether no rank with smaller coordinates along these mesh digits steps the same elements of a
    // weight or gradient as `rank`. Stages hold other tensors.
    bool counts(const Tensor& tensor, RankId rank, std::uint32_t digits) const;
    // Which of the rank-local elements of the parameter a tensor holds: under ZeRO 3 a shard (the
    // rest of it is padding).
    ElementRange stored(const Tensor& weight) const;
    ElementRange stored(TensorId weight) const { return stored(program_.tensors[index(weight)]); }

private:
    bool is_copy(const Tensor& gradient) const;

    const Program& program_;
    RankId rank_;
    std::uint32_t norm_digits_ = 0;  // that the gradient norm is summed over
};

}  // namespace orrery
