// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/validation_report.h"

namespace orrery {
namespace {

struct SecondsInterval {
    double from_s = 0;
    double to_s = 0;
};

// The interval that holds the measurement with a probability of 90 %.
SecondsInterval interval_of(const ValidatedCase& validated) {
    const double wide = 1 + validated.half_width();
    return {validated.predicted_s / wide, validated.predicted_s * wide};
}

// Predicted as in ValidatedCase::predicted_s.
double predicted_seconds(const Answer& answer) {
    return answer.iteration.seconds() * std::exp(answer.shift);
}

ReportSection step_parts(const Answer& answer) {
    ReportSection section{.title = "Where the simulated step goes"};
    section.table.columns = {{"part"}, {"time", Unit::seconds}, {"of the step", Unit::share}};
    Time named;
    for (const LostMfu& lost : answer.lost_mfu) {
        named += lost.time;
    }
    const auto row = [&](std::string_view what, Time time) {
        section.table.rows.push_back({what, time, time / answer.iteration});
    };
    row("model FLOPs at the peak", answer.iteration - named);
    for (const LostMfu& lost : answer.lost_mfu) {
        row(words_for(lost.cause), lost.time);
    }
    return section;
}

ReportSection open_inputs(const ExplainedError& explained) {
    ReportSection section{.title = "What the source does not state"};
    section.table.columns = {{"input"},
                             {"assumed"},
                             {"instead"},
                             {"predicted", Unit::seconds},
                             {"change", Unit::change},
                             {"error", Unit::change},
                             {"memory"}};
    for (const VariedInput& varied : explained.varied) {
        const Alternative& input = varied.instead;
        if (!varied.answer) {
            section.table.rows.push_back(
                {input.column, input.stated, input.value, Cell{}, Cell{}, Cell{}, "not possible"});
            continue;
        }
        const double seconds = predicted_seconds(*varied.answer);
        section.table.rows.push_back({input.column,
                                      input.stated,
                                      input.value,
                                      seconds,
                                      explained.change(varied),
                                      seconds / explained.row.measured_s - 1,
                                      varied.answer->memory.fits ? "" : "does not fit"});
    }
    return section;
}

}  // namespace

Report explained_error_sections(const ExplainedError& explained) {
    const PublishedCase& row = explained.row;
    const ValidatedCase& validated = explained.validated;
    const SecondsInterval interval = interval_of(validated);
    Report report{
        .title = fmt::format("{} ({}, {} GPUs {})", row.name, row.stack, row.num_gpus, row.gpu)};
    report.cards = {{cell_text(row.measured_s, Unit::seconds), "measured"},
                    {cell_text(validated.predicted_s, Unit::seconds), "predicted"},
                    {cell_text(validated.error(), Unit::change), "error"},
                    {fmt::format("{} to {}",
                                 cell_text(interval.from_s, Unit::seconds),
                                 cell_text(interval.to_s, Unit::seconds)),
                     validated.within() ? "90 % interval: the measurement lies inside"
                                        : "90 % interval: the measurement lies outside"}};
    report.sections.push_back(step_parts(explained.answer));
    if (explained.varied.empty()) {
        report.sections.back().after = {
            "The source states every input that has an obvious other value."};
    } else {
        report.sections.push_back(open_inputs(explained));
    }
    return report;
}

std::string explained_error_json(const ExplainedError& explained) {
    using Json = nlohmann::ordered_json;
    const ValidatedCase& validated = explained.validated;
    const SecondsInterval interval = interval_of(validated);
    Json parts = Json::object();
    for (const LostMfu& lost : explained.answer.lost_mfu) {
        parts[std::string{words_for(lost.cause)}] = lost.time.seconds();
    }
    Json inputs = json_list<Json>(explained.varied, [&](const VariedInput& varied) -> Json {
        const bool known = varied.answer.has_value();
        return {{"column", varied.instead.column},
                {"stated", varied.instead.stated},
                {"instead", varied.instead.value},
                {"predicted_s", known ? Json(predicted_seconds(*varied.answer)) : Json()},
                {"fits", known ? Json(varied.answer->memory.fits) : Json()}};
    });
    return json_text(Json{{"case", validated.name},
                          {"family", validated.family},
                          {"measured_s", validated.measured_s},
                          {"predicted_s", validated.predicted_s},
                          {"error", validated.error()},
                          {"interval_90_s", {interval.from_s, interval.to_s}},
                          {"lost_s", parts},
                          {"not_stated", inputs}});
}

}  // namespace orrery
