// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

Cell error_of(double predicted, double measured) {
    return measured > 0 ? Cell{predicted / measured - 1} : Cell{};
}

std::string error_text(double predicted, double measured) {
    return cell_text(error_of(predicted, measured), Unit::change);
}

// Predicted over measured times, with the line on which they are equal.
ReportSection scatter(const RunComparison& run) {
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

ReportSection parts(const RunComparison& run) {
    ReportSection section{.title = "Part by part",
                          .note = "Times of a rank in one step, mean of the ranks."};
    section.table.columns = {{"part"},
                             {"runs", Unit::number, 0},
                             {"measured", Unit::seconds},
                             {"predicted", Unit::seconds},
                             {"error", Unit::change}};
    for (const ComparedPart& part : run.parts) {
        if (part.measured_s <= 0 && part.predicted_s <= 0) {
            continue;
        }
        section.table.rows.push_back({part.name,
                                      known_cell(part.runs),
                                      part.measured_s,
                                      part.predicted_s,
                                      error_of(part.predicted_s, part.measured_s)});
    }
    section.table.rows.push_back({"step",
                                  Cell{},
                                  run.measured_s,
                                  run.predicted_s,
                                  error_of(run.predicted_s, run.measured_s)});
    section.table.rows.push_back({"without other processes",
                                  Cell{},
                                  run.replayed_s,
                                  run.predicted_s,
                                  error_of(run.predicted_s, run.replayed_s)});
    const auto time = [](double seconds) { return to_short_text(Time::seconds(seconds)); };
    section.after = {
        fmt::format("measured: mean of {} of {} steps; {} were undisturbed by other processes.",
                    run.steps_used,
                    run.steps,
                    run.undisturbed),
        fmt::format("All steps: median {}, spread {:.1f} %; processor time of a rank {} a step.",
                    time(run.all_median_s),
                    100 * run.all_spread,
                    time(run.cpu_s)),
        fmt::format("Without other processes: median {}, spread {:.1f} %.",
                    time(run.replayed_s),
                    100 * run.replayed_spread),
        fmt::format("The prediction gives itself an uncertainty of {:.1f} %{}.",
                    100 * run.uncertainty,
                    run.unprofiled_cpu ? ": this CPU was never profiled (orrery profile)" : "")};
    return section;
}

}  // namespace

Report comparison_sections(const RunComparison& run) {
    Report report{.title = run.scenario};
    report.lines = {fmt::format("{} {} of {}, {} of {} steps",
                                run.ranks,
                                run.ranks == 1 ? "rank" : "ranks",
                                run.machine,
                                run.steps_used,
                                run.steps)};
    report.cards = {{error_text(run.predicted_s, run.replayed_s), "error of the prediction"},
                    {to_short_text(Time::seconds(run.predicted_s)), "predicted step"},
                    {to_short_text(Time::seconds(run.replayed_s)),
                     "measured, less what others' processes took"},
                    {to_short_text(Time::seconds(run.measured_s)), "measured step"},
                    {error_text(run.predicted_s, run.measured_s), "error with what others took"}};
    report.sections = {scatter(run), parts(run)};
    report.sections.push_back({.title = "Memory",
                               .table = {.columns = {{""}, {"bytes", Unit::bytes}},
                                         .rows = {{"predicted", run.predicted_memory},
                                                  {"allocated for tensors", run.allocated_memory},
                                                  {"process", run.resident_memory}}}});
    report.footer = fmt::format("Orrery {}.", kVersion);
    return report;
}

}  // namespace orrery
