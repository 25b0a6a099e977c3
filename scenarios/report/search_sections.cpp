// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/plan_words.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/report.h"
#include "scenarios/report/search_clusters.h"
#include "scenarios/report/search_report.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

std::string plan_percent(double share) {
    return fmt::format("{:.1f} %", share * 100);
}

// Columns that depend on what the search asks for: the cluster, days, GPU-hours, cost, energy.
std::vector<std::string> extra_heads(const Scenario& scenario) {
    std::vector<std::string> heads;
    if (scenario.search.clusters.size() > 1) {
        heads.emplace_back("cluster");
    }
    if (scenario.search.tokens > 0 || scenario.search.objective == Objective::cost ||
        scenario.search.objective == Objective::energy) {
        heads.emplace_back("training");
    }
    return heads;
}

ReportSection plans(const Scenario& scenario,
                    const char* title,
                    const std::vector<FoundPlan>& found) {
    ReportSection section{
        .title = title,
        .note =
            "Memory: the peak of the plan; driver and NCCL take more, and count in what fits. "
            "Bound: how far the lower bound of the time lies below the simulated time."};
    ReportTable& table = section.table;
    table.columns.push_back({"plan", Unit::count});
    for (const auto& [name, size] : plan_sizes({})) {
        table.columns.push_back({std::string{name}, Unit::count});
    }
    for (const char* head : {"zero", "recompute", "schedule", "layers", "switches"}) {
        table.columns.push_back({head});
    }
    table.columns.push_back({"time", Unit::seconds});
    table.columns.push_back({"MFU", Unit::share});
    table.columns.push_back({"memory", Unit::bytes});
    table.columns.push_back({"bound", Unit::change});
    for (const std::string& head : extra_heads(scenario)) {
        table.columns.push_back({head});
    }
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
        row.emplace_back(switch_words(p));
        row.emplace_back(one.answer.iteration);
        row.emplace_back(one.answer.mfu);
        row.emplace_back(one.answer.memory.peak);
        row.emplace_back(one.bound / one.objective - 1);
        for (const std::string& head : extra_heads(scenario)) {
            row.emplace_back(head == "cluster" ? scenario.search.clusters[one.cluster].label
                                               : training_words(scenario, one));
        }
        table.rows.push_back(std::move(row));
    }
    return section;
}

// Step time over memory: the best plans, and the plans that no other beats in both.
ReportSection front(const SearchResult& result) {
    struct Point {
        double memory = 0;
        double time = 0;
        bool on_front = false;
    };
    std::vector<Point> points;
    for (const auto* list : {&result.best, &result.pareto}) {
        for (const FoundPlan& found : *list) {
            points.push_back({static_cast<double>(found.answer.memory.peak.count()),
                              found.answer.iteration.seconds(),
                              list == &result.pareto});
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
    }
    chart.series = {std::move(best), std::move(on_front)};
    return {.title = "Time and memory", .chart = std::move(chart)};
}

ReportSection waterfall_section(const Answer& answer) {
    ReportSection section{.title = "Where the best plan's peak goes"};
    for (const LostMfu& part : answer.lost_mfu) {
        section.bars.push_back({.name = words_for(part.cause),
                                .text = plan_percent(part.mfu),
                                .more = to_short_text(part.time),
                                .share = part.mfu});
    }
    section.bars.push_back({"MFU", plan_percent(answer.mfu), "", answer.mfu});
    return section;
}

ReportSection left_out_section(const SearchResult& result) {
    ReportSection section{.title = "What became of the plans"};
    auto rows = result.left_out.rows();
    rows.emplace_back("simulated on the network", result.fit);
    for (const auto& [reason, count] : rows) {
        section.bars.push_back(
            {.name = left_out_words(reason),
             .text = thousands(count),
             .share = static_cast<double>(count) /
                      static_cast<double>(std::max<std::int64_t>(1, result.points))});
    }
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
                                      fmt::format("plan {}", figure.winner_if_better + 1),
                                      fmt::format("plan {}", figure.winner_if_worse + 1)});
    }
    return section;
}

}  // namespace

Report search_sections(const Scenario& scenario,
                       const SearchResult& result,
                       const std::vector<SensitiveFigure>& figures) {
    const FoundPlan& best = result.best.front();
    Report report{.title = scenario.name};
    report.lines = {fmt::format(
        "{} on {}: {}", scenario.model.name, best.answer.cluster, search_headline(result))};
    std::ranges::move(search_remarks(scenario), std::back_inserter(report.lines));
    report.cards = {{to_short_text(best.answer.iteration), "step time of the best plan"},
                    {plan_percent(best.answer.mfu), "MFU (full attention)"},
                    {to_short_text(best.answer.memory.peak), "peak memory of a GPU"},
                    {thousands(result.simulated), "plans simulated on the network"},
                    {plan_percent(result.bound_gap),
                     "by which a plan that was left out could be better, at most"}};
    if (scenario.search.objective == Objective::goodput) {
        report.cards.push_back({plan_percent(best.goodput), "goodput under the faults"});
    }
    if (scenario.search.tokens > 0) {
        report.cards.push_back({fmt::format("{:.3g} d", best.days), "training with the best plan"});
    }
    if (const double money = training_money(scenario, best); money > 0) {
        report.cards.push_back({thousands(std::llround(money)), "cost of the training"});
    }
    report.sections = {plans(scenario, "The best plans", result.best)};
    if (result.clusters.size() > 1) {
        report.sections.push_back({.title = "The best plan of each cluster",
                                   .table = words_table(cluster_rows(scenario, result))});
    }
    report.sections.push_back(front(result));
    report.sections.push_back(plans(scenario, "The front of time, memory and cost", result.pareto));
    report.sections.push_back(waterfall_section(best.answer));
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
