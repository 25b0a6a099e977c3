// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/study_sections.h"

namespace orrery {

Report replay_sections(const std::string& name, const ReplayAnswer& answer) {
    Report report{.title = name};
    report.lines = {fmt::format("{}, {}, {}; rank {} ends last",
                                counted(answer.ranks, "rank"),
                                counted(answer.ops, "operation"),
                                counted(answer.flows, "flow"),
                                index(answer.slowest))};
    report.cards = {{to_short_text(answer.step), "step"}};
    ReportSection path{.title = "Along the critical path"};
    path.table.columns = {{"part"}, {"time", Unit::seconds}, {"of the step", Unit::share}};
    const auto row = [&](const char* what, Time time) {
        path.table.rows.push_back({what, time, answer.step > Time{} ? time / answer.step : 0.0});
    };
    row("compute", answer.compute);
    row("collectives", answer.collectives);
    row("messages", answer.messages);
    row("shared links", answer.contention);
    row("step", answer.step);
    path.after = {
        fmt::format("Compute is {} in the mean of the ranks.", to_short_text(answer.compute_mean))};
    report.sections = {std::move(path)};
    return report;
}

std::string replay_json(const std::string& name, const ReplayAnswer& answer) {
    const nlohmann::ordered_json json{{"name", name},
                                      {"ranks", answer.ranks},
                                      {"operations", answer.ops},
                                      {"flows", answer.flows},
                                      {"step_s", answer.step.seconds()},
                                      {"critical_path_s",
                                       {{"compute", answer.compute.seconds()},
                                        {"collectives", answer.collectives.seconds()},
                                        {"messages", answer.messages.seconds()},
                                        {"network_contention", answer.contention.seconds()}}},
                                      {"compute_mean_s", answer.compute_mean.seconds()},
                                      {"slowest_rank", index(answer.slowest)}};
    return json_text(json);
}

}  // namespace orrery
