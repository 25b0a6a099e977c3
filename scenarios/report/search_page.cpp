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
#include "scenarios/report/search_clusters.h"
#include "scenarios/report/search_report.h"
#include "scenarios/report/study_page.h"
#include "scenarios/report/study_pages.h"

namespace orrery {
namespace {

std::string plan_percent(double share) {
    return fmt::format("{:.1f} %", share * 100);
}

// Columns that depend on what the search asks for: the cluster, days, GPU-hours, cost, energy.
TextRow extra_heads(const Scenario& scenario) {
    TextRow heads;
    if (scenario.search.clusters.size() > 1) {
        heads.emplace_back("cluster");
    }
    if (scenario.search.tokens > 0 || scenario.search.objective == Objective::cost ||
        scenario.search.objective == Objective::energy) {
        heads.emplace_back("training");
    }
    return heads;
}

void add_extra(const Scenario& scenario, const FoundPlan& found, TextRow& row) {
    for (const std::string& head : extra_heads(scenario)) {
        row.push_back(head == "cluster" ? scenario.search.clusters[found.cluster].label
                                        : training_words(scenario, found));
    }
}

PageSection plans(const Scenario& scenario,
                  const char* title,
                  const std::vector<FoundPlan>& found) {
    PageSection section{.title = title, .left_columns = 1};
    TextRow heads{"plan"};
    for (const auto& [name, size] : plan_sizes({})) {
        heads.emplace_back(name);
    }
    for (const char* head : {"zero",
                             "recompute",
                             "schedule",
                             "layers",
                             "switches",
                             "time",
                             "MFU",
                             "memory",
                             "bound"}) {
        heads.emplace_back(head);
    }
    section.table.push_back(std::move(heads));
    std::ranges::move(extra_heads(scenario), std::back_inserter(section.table.front()));
    for (const FoundPlan& one : found) {
        const ParallelPlan& p = one.plan;
        TextRow row{fmt::format("{}", section.table.size())};
        for (const auto& [name, size] : plan_sizes(p)) {
            row.push_back(fmt::format("{}", size));
        }
        row.emplace_back(zero_stage(p.data_parallel_sharding_strategy));
        row.emplace_back(word_of(p.recompute_granularity, kRecomputes));
        row.emplace_back(word_of(p.schedule, kSchedules));
        row.push_back(split_word(p));
        row.push_back(switch_words(p));
        row.push_back(to_short_text(one.answer.iteration));
        row.push_back(plan_percent(one.answer.mfu));
        row.push_back(to_short_text(one.answer.memory.peak));
        row.push_back(fmt::format("-{}", plan_percent(1 - one.bound / one.objective)));
        add_extra(scenario, one, row);
        section.table.push_back(std::move(row));
    }
    return section;
}

// Step time over memory: the best plans, and the plans that no other beats in both.
PageSection front(const SearchResult& result) {
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

PageSection waterfall_section(const Answer& answer) {
    PageSection section{.title = "Where the best plan's peak goes"};
    for (const LostMfu& part : answer.lost_mfu) {
        section.bars.push_back({.name = words_for(part.cause),
                                .text = plan_percent(part.mfu),
                                .more = to_short_text(part.time),
                                .share = part.mfu});
    }
    section.bars.push_back({"MFU", plan_percent(answer.mfu), "", answer.mfu});
    return section;
}

PageSection left_out_section(const SearchResult& result) {
    PageSection section{.title = "What became of the plans"};
    auto rows = result.left_out.rows();
    rows.emplace_back("simulated on the network", result.fit);
    for (const auto& [reason, count] : rows) {
        section.bars.push_back(
            {.name = reason,
             .text = thousands(count),
             .share = static_cast<double>(count) /
                      static_cast<double>(std::max<std::int64_t>(1, result.points))});
    }
    return section;
}

PageSection hinges(const std::vector<SensitiveFigure>& figures) {
    PageSection section{.title = "What the answer hinges on",
                        .note =
                            "Change of the best plan's step time with the figure a fifth "
                            "better or worse, and the plan that is best then."};
    section.table.push_back({"figure", "better", "worse", "best if better", "best if worse"});
    for (const SensitiveFigure& figure : figures) {
        section.table.push_back({figure.figure,
                                 fmt::format("{:+.2f} %", figure.better * 100),
                                 fmt::format("{:+.2f} %", figure.worse * 100),
                                 fmt::format("plan {}", figure.winner_if_better + 1),
                                 fmt::format("plan {}", figure.winner_if_worse + 1)});
    }
    return section;
}

}  // namespace

std::string search_page(const Scenario& scenario,
                        const SearchResult& result,
                        const std::vector<SensitiveFigure>& figures) {
    const FoundPlan& best = result.best.front();
    StudyPage page{.title = scenario.name};
    page.lines = {fmt::format(
        "{} on {}: {}", scenario.model.name, best.answer.cluster, search_headline(result))};
    std::ranges::move(search_remarks(scenario), std::back_inserter(page.lines));
    page.cards = {{to_short_text(best.answer.iteration), "step time of the best plan"},
                  {plan_percent(best.answer.mfu), "MFU (full attention)"},
                  {to_short_text(best.answer.memory.peak), "peak memory of a GPU"},
                  {thousands(result.simulated), "plans simulated on the network"},
                  {plan_percent(result.bound_gap), "could be missed at most"}};
    if (scenario.search.objective == Objective::goodput) {
        page.cards.push_back({plan_percent(best.goodput), "goodput under the faults"});
    }
    if (scenario.search.tokens > 0) {
        page.cards.push_back({fmt::format("{:.3g} d", best.days), "training with the best plan"});
    }
    if (const double money = training_money(scenario, best); money > 0) {
        page.cards.push_back({thousands(std::llround(money)), "cost of the training"});
    }
    page.sections = {plans(scenario, "The best plans", result.best)};
    if (result.clusters.size() > 1) {
        page.sections.push_back({.title = "The best plan of each cluster",
                                 .table = cluster_rows(scenario, result),
                                 .left_columns = 1});
    }
    page.sections.push_back(front(result));
    page.sections.push_back(plans(scenario, "The front of time, memory and cost", result.pareto));
    page.sections.push_back(waterfall_section(best.answer));
    if (!figures.empty()) {
        page.sections.push_back(hinges(figures));
    }
    page.sections.push_back(left_out_section(result));
    if (const auto classes = search_fault_classes(scenario, result); !classes.empty()) {
        page.sections.push_back(
            fault_classes_section(classes, to_short_text(scenario.campaign.length)));
    }
    page.footer = fmt::format("Orrery {}, seed {}.", kVersion, scenario.job.seed);
    return study_html(page);
}

}  // namespace orrery
