// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/diff_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/report/memory_report.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report_words.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

struct StepFigure {
    const char* name;  // in JSON
    const char* words;
    Unit unit;
    double (*of)(const Answer&);
};

constexpr StepFigure kStepFigures[] = {
    {"iteration_s",
     "iteration time",
     Unit::seconds,
     [](const Answer& a) { return a.iteration.seconds(); }},
    {"tokens_per_s",
     "tokens a second",
     Unit::count,
     [](const Answer& a) { return a.tokens_per_s; }},
    {"mfu", "MFU (full attention)", Unit::share, [](const Answer& a) { return a.mfu; }},
    {"hfu", "HFU (full attention)", Unit::share, [](const Answer& a) { return a.hfu; }},
    {"peak_memory_bytes", "peak memory of a GPU", Unit::bytes, [](const Answer& a) {
         return static_cast<double>(a.memory.peak.count());
     }}};

Cell change_of(double before, double after) {
    return before != 0 ? Cell{after / before - 1} : Cell{};
}

// Seconds on the critical path by cause, before and after.
std::map<Cause, std::pair<double, double>> lost_times(const ScenarioDiff& diff) {
    std::map<Cause, std::pair<double, double>> times;
    for (const LostMfu& lost : diff.steps[0].lost_mfu) {
        times[lost.cause].first = lost.time.seconds();
    }
    for (const LostMfu& lost : diff.steps[1].lost_mfu) {
        times[lost.cause].second = lost.time.seconds();
    }
    return times;
}

ReportSection step_figures(const ScenarioDiff& diff) {
    ReportSection section{.title = "The step"};
    section.table.columns = {{"figure"},
                             {"before", Unit::words, 1, true},
                             {"after", Unit::words, 1, true},
                             {"change", Unit::change, 2}};
    for (const StepFigure& figure : kStepFigures) {
        const double before = figure.of(diff.steps[0]);
        const double after = figure.of(diff.steps[1]);
        section.table.rows.push_back({figure.words,
                                      cell_text(before, figure.unit),
                                      cell_text(after, figure.unit),
                                      change_of(before, after)});
    }
    for (const Answer& answer : diff.steps) {
        if (!answer.memory.fits) {
            section.after.push_back((&answer == &diff.steps[0] ? "before: " : "after: ") +
                                    does_not_fit_line(answer.memory));
        }
    }
    return section;
}

ReportSection step_times(const ScenarioDiff& diff) {
    ReportSection section{.title = "Where the time goes",
                          .note = "Of the step's critical path, the largest change first."};
    section.table.columns = {{"cause"},
                             {"before", Unit::seconds},
                             {"after", Unit::seconds},
                             {"difference of the step", Unit::change, 2}};
    const double step = diff.steps[0].iteration.seconds();
    for (const auto& [cause, time] : lost_times(diff)) {
        section.table.rows.push_back(
            {words_for(cause), time.first, time.second, (time.second - time.first) / step});
    }
    std::ranges::stable_sort(section.table.rows, [](const auto& a, const auto& b) {
        return std::abs(std::get<double>(a[3].value)) > std::abs(std::get<double>(b[3].value));
    });
    return section;
}

// The unit in the name of a result's key: at its end ("iteration_s"), or before the last part
// ("lost_s.launch").
Unit unit_of_figure(std::string_view key) {
    const auto ends = [&](std::string_view unit) {
        const std::string_view map = key.substr(0, key.rfind('.'));
        return key.ends_with(unit) || map.ends_with(unit);
    };
    if (ends("_bytes") || key.ends_with(".bytes") || key.starts_with("memory.") ||
        key.starts_with("memory_overheads.")) {
        return Unit::bytes;
    }
    return ends("_s") && !ends("_per_s") ? Unit::seconds : Unit::count;
}

// A figure of a result in the unit of its key. A number without a unit keeps six digits.
std::string figure_text(const std::string& key, const std::optional<std::string>& value) {
    if (!value) {
        return "(absent)";
    }
    double number = 0;
    const char* end = value->data() + value->size();
    const auto read = std::from_chars(value->data(), end, number);
    if (read.ec != std::errc{} || read.ptr != end) {
        return *value;
    }
    if (const Unit unit = unit_of_figure(key); unit != Unit::count) {
        return cell_text(number, unit);
    }
    const bool whole = value->find_first_of(".e") == std::string::npos;
    return (whole ? *value : fmt::format("{:.6g}", number)) +
           (key.ends_with("_per_s") ? " /s" : "");
}

ReportSection figures_of(const std::vector<Difference>& figures) {
    ReportSection section{.title = "Figures that differ"};
    section.table.columns = {{"figure"},
                             {.title = "before", .right = true},
                             {.title = "after", .right = true},
                             {"change", Unit::change, 2}};
    for (const Difference& one : figures) {
        const std::optional<double> change = one.change();
        const std::string before = figure_text(one.key, one.before);
        const std::string after = figure_text(one.key, one.after);
        const bool alike = one.before && one.after && before == after;  // equal after rounding
        section.table.rows.push_back({one.key,
                                      alike ? *one.before : before,
                                      alike ? *one.after : after,
                                      change ? Cell{*change} : Cell{}});
    }
    return section;
}

ReportSection differences_of(const char* title, const std::vector<Difference>& differences) {
    ReportSection section{.title = title};
    section.table.columns = {{"key"}, {"before"}, {"after"}, {"change", Unit::change, 2}};
    for (const Difference& one : differences) {
        const std::optional<double> change = one.change();
        section.table.rows.push_back({one.key,
                                      one.before ? Cell{*one.before} : Cell{"(absent)"},
                                      one.after ? Cell{*one.after} : Cell{"(absent)"},
                                      change ? Cell{*change} : Cell{}});
    }
    return section;
}

Json differences_json(const std::vector<Difference>& differences) {
    return json_list<Json>(differences, [&](const Difference& one) -> Json {
        const std::optional<double> change = one.change();
        return {{"key", one.key},
                {"before", one.before ? Json(*one.before) : Json()},
                {"after", one.after ? Json(*one.after) : Json()},
                {"change", change ? Json(*change) : Json()}};
    });
}

Json pair_json(double before, double after) {
    return {{"before", before},
            {"after", after},
            {"change", before != 0 ? Json(after / before - 1) : Json()}};
}

}  // namespace

Report diff_sections(const ScenarioDiff& diff) {
    Report report{.title = fmt::format("{} and {}", diff.before, diff.after)};
    if (diff.keys.empty() && diff.figures.empty()) {
        report.lines = {"They are the same."};
    }
    if (!diff.steps.empty()) {
        report.sections = {step_figures(diff), step_times(diff)};
    }
    if (!diff.figures.empty()) {
        report.sections.push_back(figures_of(diff.figures));
    }
    if (!diff.keys.empty()) {
        report.sections.push_back(differences_of("Keys that differ", diff.keys));
        report.result = report.sections.back().table;
    }
    return report;
}

std::string diff_json(const ScenarioDiff& diff) {
    Json json{{"before", diff.before},
              {"after", diff.after},
              {"keys", differences_json(diff.keys)},
              {"figures", differences_json(diff.figures)}};
    if (!diff.steps.empty()) {
        for (const StepFigure& figure : kStepFigures) {
            json["step"][figure.name] =
                pair_json(figure.of(diff.steps[0]), figure.of(diff.steps[1]));
        }
        json["step"]["lost_s"] = Json::object();
        for (const auto& [cause, time] : lost_times(diff)) {
            json["step"]["lost_s"][std::string{name(cause)}] = pair_json(time.first, time.second);
        }
    }
    return json_text(json);
}

}  // namespace orrery
