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

// Part `position` of `parts` of so many elements; all but the last are ceil(elements / parts) long.
ElementRange shard_range(std::int64_t elements, std::int64_t parts, std::int64_t position);

class ParameterShards {
public:
    ParameterShards(const Program& program, RankId rank);

    // Of a parameter's rank-local elements those that this rank updates: all of them if nobody
    // shares the work.
    ElementRange own(TensorId weight) const;

private:
    struct Place {
        std::int64_t parts = 1;
        std::int64_t position = 0;
    };
    const Program& program_;
    std::map<TensorId, Place> places_;
};

}  // namespace orrery
