// SPDX-License-Identifier: Apache-2.0
// The output of `orrery check` for a file: its errors, or a one-line summary.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/render/report.h"

namespace orrery {

struct CheckedFile {
    std::string file;
    std::string kind;  // "scenario", "network", "study"
    Errors errors;
    std::string summary;  // one line; empty if there are errors
};

// "llama-3-8b on 8 ranks (1 x dgx-h100), tp 1, pp 1, cp 1, dp 8; with campaign of 30 d"
std::string summary_of(const Scenario& scenario, bool network_alone);

Report checked_sections(const std::vector<CheckedFile>& files);
// A line for each file without errors.
std::string checked_text(const std::vector<CheckedFile>& files);
// {"right": …, "files": [{"file", "kind", "right", "summary", "errors": [{"where", "what",
// "hint"}]}]}
std::string checked_json(const std::vector<CheckedFile>& files);

}  // namespace orrery
