// SPDX-License-Identifier: Apache-2.0
// Which part of every parameter a rank keeps optimizer state of, where data-parallel ranks share
// that (ZeRO 1 and 2): each parameter's elements in order, cut into equal parts (the last shorter
// or empty), one a rank. Read off the Program: the group that gathers a parameter after the
// optimizer is the group that shards it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/program.h"

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
    ParameterShards(const Program& program, RankId rank);

    // The range of a parameter's rank-local elements that this rank updates: all of them if no
    // other rank shares the work. For a weight or its gradient; any other tensor is whole.
    ElementRange own(TensorId tensor) const;
    // The same of a gradient, but empty where another rank that takes part in the sum of the norm
    // has the very same elements: copies along a mesh axis count where their coordinate is 0, and
    // the tied embedding's copy on another pipeline stage does not count.
    ElementRange own_in_norm(TensorId gradient) const;
    // Whether no rank with smaller coordinates along these mesh axes has the same elements of a
    // weight as `rank`. Stages differ, and so do the parts of ranks that share the optimizer's
    // work.
    bool counts(const Tensor& weight, RankId rank, std::uint32_t axes) const;
    // Under ZeRO 3 a tensor that persists is itself a shard: which of the rank-local elements of
    // the parameter it holds (the rest of it is padding). Of any other tensor all of them.
    ElementRange stored(TensorId weight) const;

private:
    struct Place {
        std::int64_t parts = 1;
        std::int64_t position = 0;
    };
    void find_gathers(const Role& role, RankId rank);
    void find_gradients(const Role& role, RankId rank);

    const Program& program_;
    std::map<TensorId, Place> places_;
    std::map<TensorId, Place> stored_;       // ZeRO 3's shards
    std::map<TensorId, TensorId> whole_of_;  // and what they are gathered into
    std::uint32_t gather_axes_ = 0;          // along which parameters are sharded
    std::vector<TensorId> copies_;           // gradients that do not count in the norm
};

}  // namespace orrery
