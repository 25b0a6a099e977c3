// SPDX-License-Identifier: Apache-2.0
// The JSON of a command that has no object of its own: its report.
#pragma once

#include <string>

#include "scenarios/report/report.h"

namespace orrery {

// {"title", "figures": {WHAT: VALUE}, "sections": [{"title", "rows": [{COLUMN: VALUE}]}]}, with the
// values of cells in seconds, bytes and shares of 1.
std::string to_json(const Report& report);

}  // namespace orrery
