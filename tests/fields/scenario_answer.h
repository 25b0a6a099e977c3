// SPDX-License-Identifier: Apache-2.0
// What a simulation answers to a scenario, as JSON without what differs from run to run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/report/render/json_report.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {

inline std::string answer_of(const Scenario& scenario) {
    const Result<Answer> answer = simulate_scenario(scenario);
    if (!answer) {
        return answer.error().to_string();
    }
    auto json = nlohmann::json::parse(json_report(*answer));
    for (const char* key : {"wall_s", "peak_rss_bytes"}) {
        json.erase(key);
    }
    return json.dump();
}

}  // namespace orrery
