// SPDX-License-Identifier: Apache-2.0
// Why a search found nothing: which rule empties its space.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/result.h"

namespace orrery {

// `pruned`: points by the rule that refuses them.
Error why_space_is_empty(std::int64_t points, const std::map<std::string, std::int64_t>& pruned);

}  // namespace orrery
