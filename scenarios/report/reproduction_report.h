// SPDX-License-Identifier: Apache-2.0
// The museum's rooms as a report: a table of rooms, then each room with its comparisons and what
// explains its gains.
#pragma once

#include <string>
#include <vector>

#include "scenarios/report/render/report.h"
#include "scenarios/studies/reproduce/reproduce.h"

namespace orrery {

// `waterfalls`: also from each baseline's step to its variant's, cause by cause.
Report reproduction_sections(const std::vector<RoomOutcome>& rooms, bool waterfalls);
// One object; `reproductions` is the list of rooms.
std::string reproduction_json(const std::vector<RoomOutcome>& rooms);

}  // namespace orrery
