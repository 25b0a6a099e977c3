// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/serving_report.h"

namespace orrery {
namespace {

ReportSection prediction(const RealServingAnswer& answer) {
    ReportSection section{
        .title = "Predicted and measured",
        .note =
            "Predicted: the simulator serves the same requests with the same policies; a step "
            "costs what steps on this machine took before the run, by themselves and in a "
            "rehearsal of the load."};
    section.table.columns = {{""},
                             {"measured", Unit::seconds},
                             {"predicted", Unit::seconds},
                             {"difference", Unit::change}};
    const auto row = [&](const char* name, double measured, double predicted) {
        const auto known = [&](double value) { return measured > 0 ? Cell{value} : Cell{}; };
        section.table.rows.push_back(
            {name, known(measured), known(predicted), known(predicted / measured - 1)});
    };
    const ServingAnswer& m = answer.measured;
    const ServingAnswer& p = answer.predicted;
    row("first token, mean", m.ttft_s.mean, p.ttft_s.mean);
    row("first token, p99", m.ttft_s.p99, p.ttft_s.p99);
    row("output token, mean", m.tpot_s.mean, p.tpot_s.mean);
    row("end to end, mean", m.e2e_s.mean, p.e2e_s.mean);
    row("end to end, p99", m.e2e_s.p99, p.e2e_s.p99);
    row("all requests", m.makespan.seconds(), p.makespan.seconds());
    return section;
}

}  // namespace

Report real_serving_sections(const Scenario& scenario,
                             const RealServingAnswer& answer,
                             const ServingResult& measured) {
    Report report = serving_sections(scenario, answer.measured, measured);
    report.lines.front() =
        fmt::format("{} on {}, measured in real time", scenario.model.name, answer.device);
    report.sections.insert(report.sections.begin() + 1, prediction(answer));
    return report;
}

std::string real_serving_json(const Scenario& scenario, const RealServingAnswer& answer) {
    using Json = nlohmann::ordered_json;
    Json json = Json::parse(serving_json(scenario, answer.measured));
    json["cluster"] = "this machine";
    const Json all = Json::parse(serving_json(scenario, answer.predicted));
    Json predicted;
    for (const char* key : {"requests",
                            "refused",
                            "preemptions",
                            "makespan_s",
                            "queued_s",
                            "ttft_s",
                            "tpot_s",
                            "e2e_s",
                            "output_tokens_per_s",
                            "requests_per_s",
                            "goodput",
                            "good_share",
                            "cached_share",
                            "wall_s"}) {
        predicted[key] = all[key];
    }
    json["predicted"] = std::move(predicted);
    return json_text(json);
}

}  // namespace orrery
