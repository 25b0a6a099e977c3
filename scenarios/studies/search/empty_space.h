// SPDX-License-Identifier: Apache-2.0
// Why a search found nothing: the simulations ran out, a limit that no plan keeps, or the rule that
// empties its space.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "scenarios/format/specs/search_spec.h"
#include "scenarios/studies/search/left_out.h"

namespace orrery {

struct EmptySpace {
    std::int64_t points = 0;
    std::int64_t simulated = 0;
    LeftOut left_out;  // ran_out: candidates that no simulation has tried
};

Error why_space_is_empty(const EmptySpace& space, const SearchSpec& spec);

}  // namespace orrery
