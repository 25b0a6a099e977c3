// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/plan/plan_words.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/search_clusters.h"
#include "scenarios/report/search_report.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

std::string winner_words(std::size_t winner) {
    return winner == 0 ? std::string{"the same"} : fmt::format("plan {}", winner + 1);
}

// Columns that depend on the search: the cluster, sizes by stage, days, GPU-hours, cost, energy,
// goodput, and switches that differ from their defaults.
std::string notes_of(const Scenario& scenario, const FoundPlan& found) {
    std::vector<std::string> notes;
    const auto add = [&](std::string words) {
        if (!words.empty()) {
            notes.push_back(std::move(words));
        }
    };
    const std::string& label = scenario.search.clusters[found.cluster].label;
    add(label.empty() ? "" : "on " + label);
    const auto& sizes = found.plan.stage_tensor_model_parallel_sizes;
    add(sizes.empty() ? "" : fmt::format("tp by stage: {}", fmt::join(sizes, " ")));
    add(training_words(scenario, found));
    if (scenario.search.objective == Objective::goodput) {
        add(fmt::format("goodput {:.2f} %: as long a step without faults {}",
                        found.goodput * 100,
                        to_short_text(Time::seconds(found.objective))));
    }
    add(switch_words(found.plan));
    return fmt::format("{}", fmt::join(notes, "; "));
}

ReportSection plans(const Scenario& scenario,
                    const char* title,
                    const std::vector<FoundPlan>& found) {
    ReportSection section{.title = title};
    ReportTable& table = section.table;
    table.columns.push_back({"", Unit::count});
    for (const auto& [name, size] : plan_sizes({})) {
        table.columns.push_back({std::string{name}, Unit::count});
    }
    for (const char* head : {"zero", "recompute", "schedule", "layers"}) {
        table.columns.push_back({head});
    }
    table.columns.push_back({"time", Unit::seconds});
    table.columns.push_back({"MFU", Unit::share});
    table.columns.push_back({"memory", Unit::bytes});
    table.columns.push_back({.title = "bound", .unit = Unit::change, .page_only = true});
    for (const FoundPlan& one : found) {
        const ParallelPlan& p = one.plan;
        std::vector<Cell> row{static_cast<std::int64_t>(table.rows.size() + 1)};
        for (const auto& [name, size] : plan_sizes(p)) {
            row.emplace_back(size);
        }
        row.emplace_back(zero_stage(p.data_parallel_sharding_strategy));
        row.emplace_back(word_of(p.recompute_granularity, kRecomputes));
        row.emplace_back(word_of(p.schedule, kSchedules));
        row.emplace_back(split_word(p));
        row.emplace_back(one.answer.iteration);
        row.emplace_back(one.answer.mfu);
        row.emplace_back(one.answer.memory.peak);
        row.emplace_back(one.bound / one.objective - 1);
        table.rows.push_back(std::move(row));
        table.notes.push_back(notes_of(scenario, one));
    }
    if (std::ranges::all_of(table.notes, &std::string::empty)) {
        table.notes.clear();
    }
    return section;
}

// Step time over memory: the best plans, and the Pareto front of both.
ReportSection front(const SearchResult& result) {
    struct Point {
        double memory = 0;
        double time = 0;
        bool on_front = false;
        std::size_t plan = 0;  // row in the table
    };
    std::vector<Point> points;
    for (const auto* list : {&result.best, &result.pareto}) {
        for (std::size_t i = 0; i < list->size(); ++i) {
            points.push_back({static_cast<double>((*list)[i].answer.memory.peak.count()),
                              (*list)[i].answer.iteration.seconds(),
                              list == &result.pareto,
                              i + 1});
        }
    }
    std::ranges::stable_sort(points, {}, &Point::memory);
    PageChart chart{.x = {"memory of a GPU", "bytes"}, .y = {"step time", "s"}};
    PageSeries best{.name = "the best plans", .points = true};
    PageSeries on_front{.name = "the front of time, memory and cost", .points = true};
    for (const Point& point : points) {
        chart.xs.push_back(point.memory);
        best.values.push_back(point.on_front ? std::nullopt : std::optional{point.time});
        on_front.values.push_back(point.on_front ? std::optional{point.time} : std::nullopt);
        best.labels.push_back(fmt::format("plan {} of the best", point.plan));
        on_front.labels.push_back(fmt::format("plan {} of the front", point.plan));
    }
    chart.series = {std::move(best), std::move(on_front)};
    return {.title = "Time and memory", .chart = std::move(chart)};
}

// Certainty of the choice.
std::vector<std::string> below_the_best(const Scenario& scenario, const SearchResult& result) {
    std::vector<std::string> lines{
        "Memory: the peak of the plan; driver and NCCL take more, and count in what fits."};
    if (const std::size_t equal = equal_plans(result); equal > 1) {
        lines.push_back(fmt::format(
            "Plans 1 to {} are equal: they are within {:.1f} %, and the model cannot tell such "
            "plans apart.",
            equal,
            kPlansDiffer * 100));
    }
    const FoundPlan& best = result.best.front();
    lines.push_back(fmt::format("The bound of the best plan lies {:.1f} % below its {}. {}",
                                (1 - best.bound / best.objective) * 100,
                                words_of(scenario.search.objective).noun,
                                result.bound_gap > 0
                                    ? fmt::format("{}: a plan that was left out could be better by "
                                                  "{:.1f} % at most.",
                                                  result.interrupted ? "The search was interrupted"
                                                                     : "The simulations ran out",
                                                  result.bound_gap * 100)
                                    : "No plan that was left out can be better."));
    return lines;
}

// Counts of the plans that are left out. Every plan counts once.
ReportSection left_out_section(const SearchResult& result) {
    ReportSection section{.title = "What became of the plans"};
    auto rows = result.left_out.rows();
    rows.emplace_back("simulated on the network", result.fit);
    const std::int64_t all = result.left_out.total() + result.fit;
    for (const auto& [reason, count] : rows) {
        section.bars.push_back({.name = left_out_words(reason),
                                .text = thousands(count),
                                .share = static_cast<double>(count) /
                                         static_cast<double>(std::max<std::int64_t>(1, all))});
    }
    section.bars.push_back({.name = "in all", .text = thousands(all)});
    section.after = {
        fmt::format("Simulated without contention: {}; on the network: {}, of which {} broke a "
                    "limit and {} gave what another gave.",
                    thousands(result.simulated_analytic),
                    thousands(result.simulated),
                    thousands(result.simulated - result.fit),
                    thousands(result.equal))};
    return section;
}

ReportSection hinges(const std::vector<SensitiveFigure>& figures) {
    ReportSection section{.title = "What the answer hinges on",
                          .note =
                              "Change of the best plan's step time with the figure a fifth "
                              "better or worse, and the plan that is best then."};
    section.table.columns = {{"figure"},
                             {"better", Unit::change, 2},
                             {"worse", Unit::change, 2},
                             {"best if better"},
                             {"best if worse"}};
    for (const SensitiveFigure& figure : figures) {
        section.table.rows.push_back({figure.figure,
                                      figure.better,
                                      figure.worse,
                                      winner_words(figure.winner_if_better),
                                      winner_words(figure.winner_if_worse)});
    }
    return section;
}

}  // namespace

Report search_sections(const Scenario& scenario,
                       const SearchResult& result,
                       const std::vector<SensitiveFigure>& figures) {
    const FoundPlan& best = result.best.front();
    Report report{.title = scenario.name};
    report.facts = {{"model", scenario.model.name},
                    {"cluster", best.answer.cluster},
                    {"found", search_headline(result)}};
    report.lines = search_remarks(scenario);
    report.cards = {{to_short_text(best.answer.iteration), "step time of the best plan"},
                    {cell_text(best.answer.mfu, Unit::share), "MFU (full attention)"},
                    {to_short_text(best.answer.memory.peak), "peak memory of a GPU"},
                    {thousands(result.simulated), "plans simulated on the network"},
                    {cell_text(result.bound_gap, Unit::share),
                     "by which a plan that was left out could be better, at most"}};
    if (scenario.search.objective == Objective::goodput) {
        report.cards.push_back({cell_text(best.goodput, Unit::share), "goodput under the faults"});
    }
    if (scenario.search.tokens > 0) {
        report.cards.push_back({fmt::format("{:.3g} d", best.days), "training with the best plan"});
    }
    if (const double money = training_money(scenario, best); money > 0) {
        report.cards.push_back({thousands(std::llround(money)), "cost of the training"});
    }
    report.sections = {plans(scenario, "The best plans", result.best)};
    report.sections.back().after = below_the_best(scenario, result);
    if (result.clusters.size() > 1) {
        report.sections.push_back({.title = "The best plan of each cluster",
                                   .table = words_table(cluster_rows(scenario, result))});
    }
    report.sections.push_back(front(result));
    report.sections.push_back(plans(scenario, "The front of time, memory and cost", result.pareto));
    report.sections.push_back(waterfall_section(best.answer, "Where the best plan's peak goes"));
    if (!figures.empty()) {
        report.sections.push_back(hinges(figures));
    }
    report.sections.push_back(left_out_section(result));
    if (const auto classes = search_fault_classes(scenario, result); !classes.empty()) {
        report.sections.push_back(
            fault_classes_section(classes, to_short_text(scenario.campaign.length)));
    }
    report.footer = fmt::format("Orrery {}, seed {}.", kVersion, scenario.job.seed);
    return report;
}

}  // namespace orrery
