// SPDX-License-Identifier: Apache-2.0
// The reason why a search found no plan: the simulations ran out, a limit excludes all plans, or a
// rule empties the space.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "scenarios/format/specs/search_spec.h"
#include "scenarios/studies/search/left_out.h"

namespace orrery {

struct EmptySpace {
    std::int64_t points = 0;
    std::int64_t simulated = 0;
    LeftOut left_out;  // ran_out: number of candidates without a simulation
};

Error why_space_is_empty(const EmptySpace& space, const SearchSpec& spec);

}  // namespace orrery
