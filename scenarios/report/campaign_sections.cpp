// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/campaign/checkpoint_overheads.h"

namespace orrery {
namespace {

constexpr std::size_t kClassesShown = 20;

// One row per plan with the figures themselves.
ReportTable campaign_result(const CampaignAnswer& answer) {
    ReportTable table;
    table.columns = {{"scenario"},
                     {"plan"},
                     {"gpus", Unit::count},
                     {"seeds", Unit::count},
                     {"ettr", Unit::share},
                     {"goodput", Unit::share},
                     {"effective_mfu", Unit::share},
                     {"interruptions", Unit::number},
                     {"restarts", Unit::number},
                     {"lost", Unit::wall_time},
                     {"spares", Unit::count},
                     {"mttr", Unit::wall_time}};
    for (const PlanAnswer& plan : answer.plans) {
        table.rows.push_back({answer.scenario,
                              plan.name,
                              answer.gpus,
                              answer.seeds,
                              plan.ettr.mean,
                              plan.goodput.mean,
                              plan.effective_mfu.mean,
                              plan.interruptions.mean,
                              plan.restarts.mean,
                              plan.lost_h.mean * 3600,
                              plan.spares,
                              known_cell(plan.mttr_s)});
    }
    return table;
}

ReportSection plans(const CampaignAnswer& answer) {
    ReportSection section{.title = "Recovery plans",
                          .note =
                              "Means over the seeds, ± half of the 95 % confidence interval. "
                              "Every plan meets the same faults, so differences to the first "
                              "one are paired."};
    section.table.columns = {{"plan"},
                             {.title = "ETTR", .right = true},
                             {.title = "goodput", .right = true},
                             {.title = "over the first", .right = true},
                             {"effective MFU", Unit::share, 2, false, true},
                             {"interruptions", Unit::number, 1, false, true},
                             {"restarts", Unit::number, 1, false, true},
                             {"lost hours", Unit::number},
                             {"spares", Unit::count},
                             {"MTTR", Unit::wall_time}};
    for (const PlanAnswer& plan : answer.plans) {
        const Statistic& d = plan.ettr_over_first;
        const bool first = &plan == &answer.plans.front();
        section.table.rows.push_back(
            {plan.name,
             share_text(plan.ettr),
             share_text(plan.goodput),
             first ? ""
                   : fmt::format(
                         "{} ± {:.2f} points", signed_text(d.mean * 100, 2), (d.high - d.low) * 50),
             plan.effective_mfu.mean,
             plan.interruptions.mean,
             plan.restarts.mean,
             plan.lost_h.mean,
             plan.spares,
             known_cell(plan.mttr_s)});
    }
    return section;
}

ReportSection by_day(const CampaignAnswer& answer) {
    PageChart chart{.x = {"day", "days"}, .y = {"ETTR of the first seed", "share"}, .lines = true};
    std::size_t most = 0;
    for (const PlanAnswer& plan : answer.plans) {
        most = std::max(most, plan.ettr_by_day.size());
    }
    const double days = answer.length.seconds() / 86400;
    for (std::size_t i = 0; i < most; ++i) {
        chart.xs.push_back(days * (static_cast<double>(i) + 1) / static_cast<double>(most));
    }
    for (const PlanAnswer& plan : answer.plans) {
        PageSeries series{.name = plan.name};
        for (std::size_t i = 0; i < most; ++i) {
            series.values.push_back(i < plan.ettr_by_day.size() ? std::optional{plan.ettr_by_day[i]}
                                                                : std::nullopt);
        }
        chart.series.push_back(std::move(series));
    }
    return {.title = "ETTR over time", .chart = std::move(chart)};
}

// The runs of each plan, sorted by ETTR: the share of runs that are at least as good.
ReportSection by_seed(const CampaignAnswer& answer) {
    PageChart chart{.x = {"share of the runs that are worse", "share"}, .y = {"ETTR", "share"}};
    for (std::uint32_t i = 0; i < answer.seeds; ++i) {
        chart.xs.push_back((i + 0.5) / answer.seeds);
    }
    for (const PlanAnswer& plan : answer.plans) {
        std::vector<double> values = plan.ettr_values;
        std::ranges::sort(values);
        PageSeries series{.name = plan.name};
        series.values.assign(values.begin(), values.end());
        series.values.resize(chart.xs.size());
        chart.series.push_back(std::move(series));
    }
    return {.title = "ETTR from run to run", .chart = std::move(chart)};
}

ReportSection hours(const PlanAnswer& plan) {
    double all = 0;
    for (const double use : plan.gpu_hours) {
        all += use;
    }
    ReportSection section{.title = "GPU-hours of a run: " + plan.name, .stacked = true};
    for (std::size_t use = 0; use < kNumNodeUses; ++use) {
        if (plan.gpu_hours[use] > 0) {
            section.bars.push_back({.name = std::string{name(static_cast<NodeUse>(use))},
                                    .text = cell_text(plan.gpu_hours[use] / all, Unit::share, 2),
                                    .more = thousands(std::llround(plan.gpu_hours[use])) + " h",
                                    .share = plan.gpu_hours[use] / all});
        }
    }
    return section;
}

// The figures of the pictures as one table: a row per use of the nodes, a column per plan.
ReportSection hours_of_plans(const CampaignAnswer& answer) {
    ReportSection section{.title = "GPU-hours of a run by plan"};
    section.table.columns = {{"use"}};
    for (const PlanAnswer& plan : answer.plans) {
        section.table.columns.push_back({.title = plan.name, .unit = Unit::count});
    }
    for (std::size_t use = 0; use < kNumNodeUses; ++use) {
        std::vector<Cell> row{name(static_cast<NodeUse>(use))};
        double most = 0;
        for (const PlanAnswer& plan : answer.plans) {
            row.emplace_back(plan.gpu_hours[use]);
            most = std::max(most, plan.gpu_hours[use]);
        }
        if (most > 0) {
            section.table.rows.push_back(std::move(row));
        }
    }
    return section;
}

ReportSection checkpoint_intervals(const CampaignAnswer& answer) {
    ReportSection section{
        .title = "Checkpoint intervals",
        .note =
            "Overheads are expected shares of the time if each failure restarts the job from "
            "the last durable checkpoint of the store (Daly, 2006). Waiting for nodes, "
            "detection and copies in memory are not part of it. The rules' intervals are whole "
            "steps, and not shorter than the time until a checkpoint is durable."};
    section.table.columns = {{"plan"},
                             {"interval of"},
                             {"interval", Unit::wall_time},
                             {"checkpoints", Unit::share, 2},
                             {"failures", Unit::share, 2},
                             {"overhead", Unit::share, 2}};
    // Plans that differ only in their policies have the same rows.
    const auto same = [](const PlanAnswer& a, const PlanAnswer& b) {
        return a.interval == b.interval && a.checkpoint.stall == b.checkpoint.stall &&
               a.checkpoint.copy == b.checkpoint.copy &&
               a.costs.restart_full == b.costs.restart_full &&
               a.costs.load_remote == b.costs.load_remote;
    };
    for (auto plan = answer.plans.begin(); plan != answer.plans.end(); ++plan) {
        if (std::none_of(answer.plans.begin(), plan, [&](const PlanAnswer& earlier) {
                return same(*plan, earlier);
            })) {
            const char* name = plan->name.c_str();
            for (const CheckpointOverhead& one : checkpoint_overheads(answer, *plan)) {
                section.table.rows.push_back({std::exchange(name, ""),
                                              one.words,
                                              one.interval.seconds(),
                                              one.checkpoints,
                                              one.failures,
                                              one.overhead()});
            }
        }
    }
    return section;
}

ReportSection timeline(const CampaignAnswer& answer) {
    PageTimeline picture{.scale = 1e-6};
    for (std::size_t use = 0; use < kNumNodeUses; ++use) {
        picture.kinds.emplace_back(name(static_cast<NodeUse>(use)));
    }
    for (const PlanAnswer& plan : answer.plans) {
        PageLane lane{.name = plan.name};
        for (const TimelineEntry& entry : plan.first.timeline) {
            lane.spans.push_back({.kind = static_cast<std::size_t>(entry.use),
                                  .begin = entry.begin.microseconds(),
                                  .length = (entry.end - entry.begin).microseconds()});
        }
        if (!lane.spans.empty()) {
            picture.lanes.push_back(std::move(lane));
        }
    }
    return {.title = "The first seed's run", .timeline = std::move(picture)};
}

// The most frequent first.
ReportSection faults(const PlanAnswer& plan) {
    ReportSection section{.title = "Faults that hit the job, a run"};
    section.table = {.columns = {{"class"}, {"faults", Unit::number}}};
    section.table.shown = kClassesShown;
    section.table.rest = "more classes";
    auto classes = plan.faults;
    std::ranges::stable_sort(classes, std::greater{}, [](const auto& one) { return one.second; });
    for (const auto& [name, count] : classes) {
        section.table.rows.push_back({name, count});
    }
    return section;
}

std::vector<ReportFact> facts_of(const CampaignAnswer& a) {
    std::vector<ReportFact> facts{
        {"cluster", fmt::format("{} GPUs: {}", thousands(a.gpus), a.cluster)},
        {"campaign",
         fmt::format("{} of training, {} seeds from {} on",
                     to_short_text(a.length),
                     a.seeds,
                     a.first_seed)},
        {"step",
         fmt::format("{} ({}), MFU {:.1f} %, {} tokens a day",
                     to_short_text(a.step),
                     a.step_simulated ? "simulated" : "given",
                     a.mfu * 100,
                     a.tokens_per_day < 1e9
                         ? thousands(static_cast<std::int64_t>(a.tokens_per_day))
                         : fmt::format("{:.3g} billion", a.tokens_per_day * 1e-9))}};
    if (a.step_simulated && (a.slow_slope != 1 || a.shrunk != 1)) {
        facts.push_back({"degraded",
                         fmt::format("a node slower by 10 %: {} % a step; one unit less: "
                                     "{:.2f} % of the pace",
                                     signed_text(a.slow_slope * 10, 1),
                                     a.shrunk * 100)});
    }
    facts.push_back({"faults",
                     a.mtbf_h > 0 ? fmt::format("one that stops the job every {}, expected",
                                                to_short_text(WallTime::seconds(a.mtbf_h * 3600)))
                                  : std::string{"none that stop the job"}});
    return facts;
}

}  // namespace

Report campaign_sections(const CampaignAnswer& answer) {
    Report report{.title = answer.scenario};
    report.facts = facts_of(answer);
    report.result = campaign_result(answer);
    const PlanAnswer& best = *std::ranges::max_element(
        answer.plans, {}, [](const PlanAnswer& plan) { return plan.goodput.mean; });
    report.cards = {{cell_text(best.goodput.mean, Unit::share, 2), "goodput"},
                    {cell_text(best.ettr.mean, Unit::share, 2), "ETTR"},
                    {cell_text(best.effective_mfu.mean, Unit::share, 2), "effective MFU"},
                    {fmt::format("{:.1f}", best.interruptions.mean), "interruptions"},
                    {fmt::format("{:.1f} h", best.lost_h.mean), "of training lost"}};
    if (answer.plans.size() > 1) {
        report.lines.push_back(fmt::format(
            "The best of {} recovery plans by goodput: {}", answer.plans.size(), best.name));
    }
    if (!answer.fault_classes.empty()) {
        report.sections.push_back(
            fault_classes_section(answer.fault_classes, to_short_text(answer.length)));
    }
    if (answer.plans.size() > 1) {
        report.sections.push_back(plans(answer));
        report.sections.push_back(hours_of_plans(answer));
    }
    for (const PlanAnswer& plan : answer.plans) {
        report.sections.push_back(recovery_plan_section(plan, answer.tokens));
        report.sections.push_back(hours(plan));
    }
    if (answer.mtbf_h > 0) {
        report.sections.push_back(checkpoint_intervals(answer));
    }
    for (ReportSection& section : std::vector{faults(answer.plans.front()),
                                              by_day(answer),
                                              first_run_section(answer.plans.front()),
                                              timeline(answer),
                                              by_seed(answer)}) {
        report.sections.push_back(std::move(section));
    }
    report.footer = fmt::format("Orrery {}, seeds {} to {}.",
                                answer.version,
                                answer.first_seed,
                                answer.first_seed + answer.seeds - 1);
    return report;
}

}  // namespace orrery
