// SPDX-License-Identifier: Apache-2.0
// The sizes of a study of messages, as --size takes them.
#pragma once

#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"

namespace orrery {

// "1MiB..8GiB" (each twice the previous one), "64KiB,1MiB", "4 MiB", or several of these.
Result<std::vector<Bytes>> parse_sizes(std::string_view text);

}  // namespace orrery
