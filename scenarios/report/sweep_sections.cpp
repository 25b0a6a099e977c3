// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/report/sweep_report.h"

namespace orrery {
namespace {

// Bound on the curves of a picture. It shows the step time over one numeric key, with a curve for
// each combination of the others.
constexpr std::size_t kCurvesMax = 12;
constexpr std::size_t kPointsShown = 20;
constexpr std::size_t kErrorsShown = 5;

std::optional<double> number_of(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return end == text.c_str() ? std::nullopt : std::optional{value};
}

std::optional<ReportSection> curves_over(const std::string& axis,
                                         const std::vector<PointResult>& results) {
    std::map<std::string, std::map<double, double>> curves;
    std::map<double, bool> xs;
    for (const PointResult& point : results) {
        std::string others;
        std::optional<double> x;
        for (const auto& [key, value] : point.settings) {
            if (key == axis) {
                x = number_of(value);
            } else {
                others += (others.empty() ? "" : ", ") + short_key(key) + " " + value;
            }
        }
        if (!point.error.empty() || !point.fits) {
            continue;
        }
        if (!x) {
            return std::nullopt;
        }
        curves[others.empty() ? point.scenario : others][*x] = point.tokens_per_s;
        xs[*x] = true;
    }
    if (xs.size() < 2 || curves.size() > kCurvesMax) {
        return std::nullopt;
    }
    PageChart chart{.x = {short_key(axis), ""}, .y = {"tokens a second", ""}};
    for (const auto& [x, there] : xs) {
        chart.xs.push_back(x);
    }
    for (const auto& [name, curve] : curves) {
        PageSeries series{.name = name};
        for (const double x : chart.xs) {
            const auto found = curve.find(x);
            series.values.push_back(found == curve.end() ? std::nullopt
                                                         : std::optional{found->second});
        }
        chart.series.push_back(std::move(series));
    }
    return ReportSection{.title = "Tokens a second over " + short_key(axis),
                         .note = "Points that do not fit into memory are left out.",
                         .chart = std::move(chart)};
}

// "tp 8, mbs 2"
std::string settings_words(const PointResult& point) {
    std::string words;
    for (const auto& [key, value] : point.settings) {
        words += (words.empty() ? "" : ", ") + short_key(key) + " " + value;
    }
    return words.empty() ? point.scenario : words;
}

ReportSection time_and_memory(const std::vector<PointResult>& results) {
    std::vector<const PointResult*> points;
    for (const PointResult& point : results) {
        if (point.error.empty()) {
            points.push_back(&point);
        }
    }
    std::ranges::stable_sort(
        points, {}, [](const PointResult* point) { return point->peak_memory_bytes; });
    PageChart chart{.x = {"memory of a GPU", "bytes"}, .y = {"step time", "s"}};
    PageSeries fit{.name = "fits", .points = true};
    PageSeries large{.name = "does not fit", .points = true};
    for (const PointResult* point : points) {
        chart.xs.push_back(static_cast<double>(point->peak_memory_bytes));
        const std::optional time = point->iteration_s;
        fit.values.push_back(point->fits ? time : std::nullopt);
        large.values.push_back(point->fits ? std::nullopt : time);
        fit.labels.push_back(settings_words(*point));
        large.labels.push_back(settings_words(*point));
    }
    for (PageSeries* series : {&fit, &large}) {
        if (std::ranges::any_of(series->values,
                                [](const auto& value) { return value.has_value(); })) {
            chart.series.push_back(std::move(*series));
        }
    }
    return {.title = "Time and memory", .chart = std::move(chart)};
}

bool several_scenarios(const std::vector<PointResult>& results) {
    return std::ranges::any_of(
        results, [&](const PointResult& p) { return p.scenario != results.front().scenario; });
}

// Points with an answer, sorted by time. Points whose plan does not fit in memory come last.
ReportSection answers_of(const std::vector<PointResult>& results) {
    ReportSection section{.title = "Points with an answer, the fastest that fit first"};
    ReportTable& table = section.table;
    table.shown = kPointsShown;
    table.rest = "slower ones, or ones that do not fit";
    const std::vector<std::string> keys = swept_keys(results);
    const bool scenarios = several_scenarios(results);
    if (scenarios) {
        table.columns.push_back({"scenario"});
    }
    for (const std::string& key : keys) {
        table.columns.push_back({short_key(key)});
    }
    const Column columns[] = {{"GPUs", Unit::count},
                              {"time", Unit::seconds},
                              {"MFU", Unit::share},
                              {"tokens/s", Unit::count},
                              {"memory", Unit::bytes},
                              {"note"}};
    table.columns.insert(table.columns.end(), std::begin(columns), std::end(columns));
    std::vector<const PointResult*> answers;
    for (const PointResult& point : results) {
        if (point.error.empty()) {
            answers.push_back(&point);
        }
    }
    std::ranges::stable_sort(answers, [](const PointResult* a, const PointResult* b) {
        return std::pair{!a->fits, -a->tokens_per_s} < std::pair{!b->fits, -b->tokens_per_s};
    });
    for (const PointResult* point : answers) {
        std::vector<Cell>& row = table.rows.emplace_back();
        if (scenarios) {
            row.emplace_back(point->scenario);
        }
        for (const std::string& key : keys) {
            row.emplace_back(value_of(*point, key));
        }
        row.emplace_back(point->gpus);
        row.emplace_back(point->iteration_s);
        row.emplace_back(point->mfu);
        row.emplace_back(point->tokens_per_s);
        row.emplace_back(point->peak_memory_bytes);
        row.emplace_back(point->fits ? "" : "does not fit");
    }
    return section;
}

ReportSection errors_of(const std::vector<PointResult>& results) {
    ReportSection section{.title = "No answer", .table = {.columns = {{"point"}}}};
    section.table.shown = kErrorsShown;
    for (const PointResult& point : results) {
        if (!point.error.empty()) {
            std::string name = PointResult::name(point.scenario, point.settings);
            std::ranges::replace(name, '\n', ' ');
            section.table.rows.push_back({name});
            section.table.notes.push_back(point.error);
        }
    }
    return section;
}

}  // namespace

Report sweep_sections(const std::string& name, const SweepOutcome& outcome) {
    Report report{.title = name};
    const PointResult* best = nullptr;
    std::int64_t errors = 0;
    for (const PointResult& point : outcome.results) {
        errors += point.error.empty() ? 0 : 1;
        if (point.error.empty() && point.fits &&
            (best == nullptr || point.tokens_per_s > best->tokens_per_s)) {
            best = &point;
        }
    }
    for (const std::string& crash : outcome.crashed) {
        report.lines.push_back(crash + "; it is run again at the next start");
    }
    report.cards = {{.value = thousands(outcome.points),
                     .what = "points",
                     .more = fmt::format("{} of them finished before", thousands(outcome.known))},
                    {thousands(errors), "without an answer", errors > 0}};
    if (best != nullptr) {
        report.cards.push_back({to_short_text(Time::seconds(best->iteration_s)),
                                "step time of the fastest that fits"});
        report.cards.push_back({cell_text(best->mfu, Unit::share), "its MFU"});
    }
    for (const std::string& axis : swept_keys(outcome.results)) {
        if (auto curves = curves_over(axis, outcome.results)) {
            report.sections.push_back(std::move(*curves));
        }
    }
    report.sections.push_back(time_and_memory(outcome.results));
    for (ReportSection& section :
         std::vector{answers_of(outcome.results), errors_of(outcome.results)}) {
        if (!section.table.rows.empty()) {
            report.sections.push_back(std::move(section));
        }
    }
    report.footer = fmt::format("Orrery {}.", kVersion);
    return report;
}

}  // namespace orrery
