// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/report/study_page.h"
#include "scenarios/report/study_pages.h"

namespace orrery {
namespace {

std::string ms(double seconds) {
    return fmt::format("{:.3f}", seconds * 1e3);
}

std::string error_text(double predicted, double measured) {
    return measured > 0 ? fmt::format("{:+.1f} %", (predicted / measured - 1) * 100) : "";
}

// Predicted over measured: on the line where they are equal.
PageSection scatter(const RunComparison& run) {
    std::vector<std::pair<double, double>> points;
    for (const ComparedPart& part : run.parts) {
        if (part.measured_s > 0 && part.predicted_s > 0) {
            points.emplace_back(part.measured_s, part.predicted_s);
        }
    }
    std::ranges::sort(points);
    PageChart chart{.x = {"measured", "s"}, .y = {"predicted", "s"}};
    PageSeries parts{.name = "parts of the step", .points = true};
    PageSeries equal{.name = "as measured"};
    for (const auto& [measured, predicted] : points) {
        chart.xs.push_back(measured);
        parts.values.emplace_back(predicted);
        equal.values.emplace_back(measured);
    }
    chart.series = {std::move(parts), std::move(equal)};
    return {.title = "Predicted against measured", .chart = std::move(chart)};
}

PageSection parts(const RunComparison& run) {
    PageSection section{.title = "Part by part",
                        .note = "Milliseconds of a rank in one step, mean of the ranks."};
    section.table.push_back({"part", "runs", "measured", "predicted", "error"});
    for (const ComparedPart& part : run.parts) {
        section.table.push_back({part.name,
                                 fmt::format("{:.0f}", part.runs),
                                 ms(part.measured_s),
                                 ms(part.predicted_s),
                                 error_text(part.predicted_s, part.measured_s)});
    }
    section.table.push_back({"step",
                             "",
                             ms(run.measured_s),
                             ms(run.predicted_s),
                             error_text(run.predicted_s, run.measured_s)});
    return section;
}

}  // namespace

std::string comparison_page(const RunComparison& run) {
    StudyPage page{.title = run.scenario};
    page.lines = {fmt::format("{} {} of {}, {} of {} steps",
                              run.ranks,
                              run.ranks == 1 ? "rank" : "ranks",
                              run.machine,
                              run.steps_used,
                              run.steps)};
    page.cards = {{error_text(run.predicted_s, run.replayed_s), "error of the prediction"},
                  {to_short_text(Time::seconds(run.predicted_s)), "predicted step"},
                  {to_short_text(Time::seconds(run.replayed_s)),
                   "measured, less what others' processes took"},
                  {to_short_text(Time::seconds(run.measured_s)), "measured step"},
                  {error_text(run.predicted_s, run.measured_s), "error with what others took"}};
    page.sections = {scatter(run), parts(run)};
    page.sections.push_back(
        {.title = "Memory",
         .table = {{"", "bytes"},
                   {"predicted", to_short_text(run.predicted_memory)},
                   {"allocated for tensors", to_short_text(run.allocated_memory)},
                   {"process", to_short_text(run.resident_memory)}}});
    page.footer = fmt::format("Orrery {}.", kVersion);
    return study_html(page);
}

}  // namespace orrery
