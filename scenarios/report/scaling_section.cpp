// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/specs/serving_spec.h"
#include "scenarios/report/served_load_sections.h"

namespace orrery {
namespace {

// Instances of all pools over time, with two points at each change: before and after it.
PageChart chart_of(const ServingAnswer& answer) {
    PageChart chart{.x = {"time", "s"}, .y = {"instances", ""}, .xs = {}, .series = {}};
    for (const ServingAnswer::ScaledPool& pool : answer.scaled) {
        for (const auto& [at, serving] : pool.timeline) {
            chart.xs.push_back(at);
            chart.xs.push_back(at);
        }
    }
    std::ranges::sort(chart.xs);
    for (const ServingAnswer::ScaledPool& pool : answer.scaled) {
        PageSeries series{.name = std::string{name(pool.role)}, .values = {}};
        for (std::size_t i = 0; i < chart.xs.size(); ++i) {
            std::int64_t serving = pool.timeline.front().second;
            for (const auto& [at, count] : pool.timeline) {
                // At a change the first of the two points has the value before it.
                if (at < chart.xs[i] || (at == chart.xs[i] && i % 2 == 1)) {
                    serving = count;
                }
            }
            series.values.emplace_back(static_cast<double>(serving));
        }
        chart.series.push_back(std::move(series));
    }
    return chart;
}

}  // namespace

ReportSection encoder_section(const ServingAnswer::Encoder& encoder) {
    ReportSection section{.title = "Images",
                          .note =
                              "Requests with images wait for an encoder and its work before the "
                              "pools get them; the wait is a part of their queue."};
    section.table.columns = {{"encoders", Unit::count},
                             {"images", Unit::count},
                             {"busy", Unit::share},
                             {"mean wait", Unit::seconds}};
    section.table.rows.push_back(
        {encoder.instances, encoder.images, encoder.busy, Time::seconds(encoder.wait_s)});
    return section;
}

ReportSection row_section(const ServingAnswer::Row& row) {
    ReportSection section{.title = "Power of the row",
                          .note = "Of all instances with their share of the servers, in kW. The "
                                  "peak is of two seconds."};
    section.table.columns = {{"limit", Unit::number, 1},
                             {"mean", Unit::number, 1},
                             {"peak", Unit::number, 1},
                             {"clocks went down", Unit::count},
                             {"brakes", Unit::count}};
    section.table.rows.push_back({row.limit_watts * 1e-3,
                                  row.mean_watts * 1e-3,
                                  row.peak_watts * 1e-3,
                                  row.capped,
                                  row.brakes});
    return section;
}

ReportSection scaling_section(const ServingAnswer& answer) {
    ReportSection section{.title = "Instances over time",
                          .note = "Instances that serve. GPU hours count those that start or serve "
                                  "to their end, too."};
    section.table.columns = {{"pool"},
                             {"start-up", Unit::seconds},
                             {"fewest", Unit::count},
                             {"mean", Unit::number, 2},
                             {"most", Unit::count},
                             {"changes", Unit::count}};
    for (const ServingAnswer::ScaledPool& pool : answer.scaled) {
        section.table.rows.push_back({name(pool.role),
                                      pool.start_up,
                                      pool.least,
                                      pool.mean,
                                      pool.most,
                                      std::ssize(pool.timeline) - 1});
    }
    section.after.push_back(fmt::format("{:.1f} GPU hours.", answer.gpu_hours));
    section.chart = chart_of(answer);
    return section;
}

ReportSection tiers_section(const ServingAnswer& answer) {
    ReportSection section{
        .title = "Tiers below the caches",
        .note = "In tokens. Dram and nvme are of one server, remote is of all servers together."};
    section.table.columns = {{"tier"},
                             {"holds", Unit::count},
                             {"most in use", Unit::count},
                             {"written", Unit::count},
                             {"loaded", Unit::count},
                             {"made room", Unit::count}};
    for (const ServingAnswer::Tier& tier : answer.tiers) {
        section.table.rows.push_back(
            {name(tier.kind), tier.capacity, tier.most, tier.written, tier.loaded, tier.left});
    }
    section.after.push_back(
        fmt::format("{:.1f} % of the prompts' tokens were found, {:.1f} % in the tiers.",
                    answer.cached_share * 100,
                    answer.loaded_share * 100));
    if (answer.loads > 0) {
        section.after.push_back(fmt::format(
            "{} requests loaded {} in all, {} each on average. Steps took {} longer for that.",
            answer.loads,
            to_short_text(answer.loaded),
            to_short_text(Time::seconds(answer.load_s)),
            to_short_text(Time::seconds(answer.exposed_load_s))));
    }
    return section;
}

}  // namespace orrery
