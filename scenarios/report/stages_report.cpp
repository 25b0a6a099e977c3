// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/stages_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/report/render/json_text.h"

namespace orrery {

Report stages_sections(const std::vector<StageOutcome>& outcomes) {
    ReportSection section{.title = "Stages"};
    section.table.columns = {{"stage"},
                             {"time", Unit::wall_time},
                             {"end"},
                             {"without"},
                             {"comparisons not made", Unit::count}};
    for (const StageOutcome& outcome : outcomes) {
        section.table.rows.push_back({outcome.name,
                                      outcome.end.seconds,
                                      outcome.end.words(),
                                      outcome.without,
                                      outcome.failed});
    }
    return {.title = "Checks of this machine", .sections = {std::move(section)}};
}

std::string stages_json(const std::vector<StageOutcome>& outcomes) {
    using Json = nlohmann::ordered_json;
    Json stages = json_list<Json>(outcomes, [&](const StageOutcome& outcome) -> Json {
        return {{"stage", outcome.name},
                {"time_s", outcome.end.seconds},
                {"end", outcome.end.words()},
                {"right", outcome.ok()},
                {"without", outcome.without},
                {"comparisons_not_made", outcome.failed}};
    });
    return json_text(Json{{"stages", stages}});
}

}  // namespace orrery
