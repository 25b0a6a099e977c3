// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/report.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/report/sweep_report.h"

namespace orrery {
namespace {

// Step time over one axis, the other keys held: a curve for each of their values, where the axis
// is a number. At most this many curves, or the picture says nothing.
constexpr std::size_t kCurvesMax = 12;

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
        if (!point.error.empty()) {
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
                         .chart = std::move(chart)};
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
    }
    chart.series = {std::move(fit), std::move(large)};
    return {.title = "Time and memory", .chart = std::move(chart)};
}

}  // namespace

Report sweep_sections(const std::string& name, const SweepOutcome& outcome) {
    Report report{.title = name};
    report.lines = {fmt::format("{} points", thousands(outcome.points))};
    const PointResult* best = nullptr;
    std::int64_t errors = 0;
    for (const PointResult& point : outcome.results) {
        errors += point.error.empty() ? 0 : 1;
        if (point.error.empty() && point.fits &&
            (best == nullptr || point.tokens_per_s > best->tokens_per_s)) {
            best = &point;
        }
    }
    report.cards = {{thousands(outcome.points), "points"},
                    {thousands(errors), "without an answer", errors > 0}};
    if (best != nullptr) {
        report.cards.push_back({to_short_text(Time::seconds(best->iteration_s)),
                                "step time of the fastest that fits"});
        report.cards.push_back({fmt::format("{:.1f} %", best->mfu * 100), "its MFU"});
    }
    for (const std::string& axis : swept_keys(outcome.results)) {
        if (auto curves = curves_over(axis, outcome.results)) {
            report.sections.push_back(std::move(*curves));
        }
    }
    report.sections.push_back(time_and_memory(outcome.results));
    report.sections.push_back({.title = "All points",
                               .table = words_table(sweep_rows(outcome.results),
                                                    1 + swept_keys(outcome.results).size())});
    report.footer = fmt::format("Orrery {}.", kVersion);
    return report;
}

}  // namespace orrery
