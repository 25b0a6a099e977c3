// SPDX-License-Identifier: Apache-2.0
// Carries out one order of a supervisor in one of its processes: training as the ordered rank from
// the ordered checkpoint, until all steps are done or an event stops it, or a check of the nodes.
// The outcome is reported to the supervisor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/data/token_file.h"
#include "runtime/supervisor/member.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// The arguments of the process, and the sink for its text.
struct MemberSpec {
    std::string file;  // the scenario
    std::vector<std::string> overrides;
    std::string device;  // "auto", "cpu", "cuda"; empty: the scenario's
    std::function<void(const std::string&)> line;
    std::function<void(const std::string&)> note;
};

void carry_out(Member& member,
               const Scenario& scenario,
               const Tokens& tokens,
               const Order& order,
               const MemberSpec& spec);

}  // namespace orrery
