// SPDX-License-Identifier: Apache-2.0
// Reproductions as a report: a table of all, then each with its comparisons and the causes of its
// gains.
#pragma once

#include <string>
#include <vector>

#include "scenarios/report/render/report.h"
#include "scenarios/studies/reproduce/reproduce.h"

namespace orrery {

// `waterfalls` adds the change of each baseline's step to its variant's by cause.
Report reproduction_sections(const std::vector<RoomOutcome>& rooms, bool waterfalls);
// One object; `reproductions` is the list of reproductions.
std::string reproduction_json(const std::vector<RoomOutcome>& rooms);

}  // namespace orrery
