// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/report.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

std::string fine_percent(double share) {
    return fmt::format("{:.2f} %", share * 100);
}

ReportSection plans(const CampaignAnswer& answer) {
    ReportSection section{.title = "Recovery plans",
                          .note = "Means over the seeds; every plan meets the same faults."};
    section.table.columns = {{"plan"},
                             {"ETTR", Unit::share, 2},
                             {"goodput", Unit::share, 2},
                             {"effective MFU", Unit::share, 2},
                             {"interruptions", Unit::number},
                             {"restarts", Unit::number},
                             {"lost hours", Unit::number},
                             {"spares", Unit::count},
                             {"MTTR", Unit::wall_time}};
    for (const PlanAnswer& plan : answer.plans) {
        section.table.rows.push_back({plan.name,
                                      plan.ettr.mean,
                                      plan.goodput.mean,
                                      plan.effective_mfu.mean,
                                      plan.interruptions.mean,
                                      plan.restarts.mean,
                                      plan.lost_h.mean,
                                      plan.spares,
                                      plan.mttr_s});
    }
    return section;
}

ReportSection restarts(const CampaignAnswer& answer) {
    ReportSection section{.title = "What a full restart takes"};
    section.table.columns = {{"plan"},
                             {"processes and communicators", Unit::wall_time},
                             {"of these, rendezvous and communicators", Unit::wall_time},
                             {"groups", Unit::count},
                             {"loading", Unit::wall_time},
                             {"of this, the read", Unit::wall_time},
                             {"the broadcast", Unit::wall_time}};
    for (const PlanAnswer& plan : answer.plans) {
        const StartUpAnswer& s = plan.start_up;
        const auto seconds = [](WallTime time) { return Cell{time.seconds()}; };
        section.table.rows.push_back(
            {plan.name,
             seconds(plan.costs.restart_full),
             s.given ? Cell{"given together"} : seconds(s.communicators),
             s.groups,
             seconds(plan.costs.load_remote),
             s.read > WallTime{} ? seconds(s.read) : Cell{"given together"},
             seconds(s.broadcast)});
    }
    return section;
}

ReportSection by_day(const CampaignAnswer& answer) {
    PageChart chart{.x = {"day", "days"}, .y = {"ETTR of the first seed", "share"}};
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

// The runs of each plan, sorted: how often it is how good.
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
    ReportSection section{.title = "GPU-hours of a run: " + plan.name};
    for (std::size_t use = 0; use < kNumNodeUses; ++use) {
        if (plan.gpu_hours[use] > 0) {
            section.bars.push_back({.name = std::string{name(static_cast<NodeUse>(use))},
                                    .text = fine_percent(plan.gpu_hours[use] / all),
                                    .more = thousands(std::llround(plan.gpu_hours[use])) + " h",
                                    .share = plan.gpu_hours[use] / all});
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

ReportSection faults(const PlanAnswer& plan) {
    double most = 1e-9;
    for (const auto& [name, count] : plan.faults) {
        most = std::max(most, count);
    }
    ReportSection section{.title = "Faults that hit the job, a run"};
    for (const auto& [name, count] : plan.faults) {
        section.bars.push_back(
            {.name = name, .text = fmt::format("{:.1f}", count), .share = count / most});
    }
    return section;
}

}  // namespace

Report campaign_sections(const CampaignAnswer& answer) {
    Report report{.title = answer.scenario};
    report.lines = {fmt::format("{} GPUs: {}", thousands(answer.gpus), answer.cluster),
                    fmt::format("{} of training, {} seeds from {} on; a step takes {}",
                                to_short_text(answer.length),
                                answer.seeds,
                                answer.first_seed,
                                to_short_text(answer.step))};
    const PlanAnswer& best = *std::ranges::max_element(
        answer.plans, {}, [](const PlanAnswer& plan) { return plan.goodput.mean; });
    report.cards = {{fine_percent(best.goodput.mean), "goodput"},
                    {fine_percent(best.ettr.mean), "ETTR"},
                    {fine_percent(best.effective_mfu.mean), "effective MFU"},
                    {fmt::format("{:.1f}", best.interruptions.mean), "interruptions"},
                    {fmt::format("{:.1f} h", best.lost_h.mean), "of training lost"}};
    if (answer.plans.size() > 1) {
        report.lines.push_back(fmt::format(
            "The best of {} recovery plans by goodput: {}", answer.plans.size(), best.name));
    }
    report.sections = {
        plans(answer), by_day(answer), restarts(answer), timeline(answer), by_seed(answer)};
    for (const PlanAnswer& plan : answer.plans) {
        report.sections.push_back(hours(plan));
    }
    report.sections.push_back(
        fault_classes_section(answer.fault_classes, to_short_text(answer.length)));
    report.sections.push_back(faults(answer.plans.front()));
    report.footer = fmt::format("Orrery {}, seeds from {} on.", answer.version, answer.first_seed);
    return report;
}

}  // namespace orrery
