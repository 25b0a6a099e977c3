// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/study_sections.h"

namespace orrery {

Report congestion_sections(const CongestionStudy& study) {
    ReportSection section{.title = "Packets against fair shares of the same flows, last flow"};
    section.table.columns = {{"pattern"},
                             {"messages", Unit::count},
                             {"fair, small", Unit::seconds},
                             {"fair, large", Unit::seconds},
                             {"packets, small", Unit::seconds},
                             {"packets, large", Unit::seconds},
                             {"efficiency", Unit::number, 3},
                             {"queueing", Unit::seconds}};
    for (const CongestionRow& row : study.rows) {
        section.table.rows.push_back({row.pattern,
                                      row.messages,
                                      row.fair_small,
                                      row.fair_large,
                                      row.packets_small,
                                      row.packets_large,
                                      row.factor.efficiency,
                                      row.factor.queueing_delay});
    }
    return {.title = fmt::format("Congestion control {}", study.factors.algorithm),
            .sections = {std::move(section)}};
}

std::string congestion_json(const CongestionStudy& study) {
    using Json = nlohmann::ordered_json;
    Json rows = json_list<Json>(study.rows, [&](const CongestionRow& row) -> Json {
        return {{"pattern", row.pattern},
                {"messages", row.messages},
                {"fair_small_s", row.fair_small.seconds()},
                {"fair_large_s", row.fair_large.seconds()},
                {"packets_small_s", row.packets_small.seconds()},
                {"packets_large_s", row.packets_large.seconds()},
                {"efficiency", row.factor.efficiency},
                {"queueing_delay_s", row.factor.queueing_delay.seconds()}};
    });
    return json_text(Json{{"algorithm", study.factors.algorithm}, {"rows", rows}});
}

}  // namespace orrery
