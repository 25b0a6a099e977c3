// SPDX-License-Identifier: Apache-2.0
// The layouts of a plan's stages (scenarios/studies/explain/layouts.h), as a table or JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/report/render/report.h"
#include "scenarios/studies/explain/layouts.h"

namespace orrery {

std::string layouts_report(const std::vector<StageLayouts>& stages);
Report layouts_sections(const std::vector<StageLayouts>& stages);
std::string layouts_json(const std::vector<StageLayouts>& stages);

}  // namespace orrery
