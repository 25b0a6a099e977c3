// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/served_load_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "scenarios/format/document/quantity.h"

namespace orrery {
namespace {

// A figure of each pool over time.
struct LoadSeries {
    std::string_view name;
    double PoolLoad::*value;
    bool of_instances;  // shown as a share of the instances
};
constexpr std::array<LoadSeries, 2> kUse{
    {{"computing", &PoolLoad::computing, true}, {"caches in use", &PoolLoad::cache, true}}};
constexpr std::array<LoadSeries, 2> kRequests{
    {{"in steps", &PoolLoad::sequences, false}, {"in queues", &PoolLoad::waiting, false}}};

PageChart chart_of(const ServingAnswer& answer,
                   const ServedTimeline& timeline,
                   std::span<const LoadSeries> figures,
                   PageAxis y) {
    const auto loads = timeline.loads();
    PageChart chart{.x = {"time", "s"}, .y = std::move(y), .xs = {}, .series = {}};
    for (std::size_t part = 0; part < loads.front().size(); ++part) {
        chart.xs.push_back((static_cast<double>(part) + 0.5) * timeline.part().seconds());
    }
    for (std::size_t pool = 0; pool < loads.size(); ++pool) {
        const auto instances = static_cast<double>(answer.pools[pool].instances);
        for (const LoadSeries& figure : figures) {
            PageSeries series{.name = std::string{figure.name}, .values = {}};
            if (loads.size() > 1) {
                series.name = fmt::format("{}, {}", name(answer.pools[pool].role), figure.name);
            }
            for (const PoolLoad& load : loads[pool]) {
                series.values.emplace_back(load.*figure.value /
                                           (figure.of_instances ? instances : 1));
            }
            chart.series.push_back(std::move(series));
        }
    }
    return chart;
}

std::size_t kind_of(const ServedStep& step) {
    return step.prompts == 0 ? 2 : step.generating == 0 ? 0 : 1;
}

ReportSection batches_section(const ServingAnswer& answer,
                              const std::vector<ServedTimeline::Lane>& lanes) {
    Time begin = Time::max();
    for (const ServedTimeline::Lane& lane : lanes) {
        for (const ServedStep& step : lane.steps) {
            begin = std::min(begin, step.begin);
        }
    }
    PageTimeline picture{
        .scale = 1e-9, .kinds = {"prompts", "prompts and generation", "generation"}, .lanes = {}};
    for (const ServedTimeline::Lane& lane : lanes) {
        PageLane row{
            .name = fmt::format("{} {}", name(answer.pools[lane.pool].role), lane.instance),
            .spans = {}};
        for (const ServedStep& step : lane.steps) {
            const Time length = step.first_stage_end - step.begin;
            row.spans.push_back({.kind = kind_of(step),
                                 .begin = (step.begin - begin).picoseconds() / 1000,
                                 .length = length.picoseconds() / 1000});
        }
        picture.lanes.push_back(std::move(row));
    }
    return {
        .title = "Batches around the fullest moment",
        .note = fmt::format("Steps of the first instances of each pool (of their first stages), "
                            "from {} on. Empty space is waiting.",
                            to_short_text(begin)),
        .timeline = std::move(picture)};
}

}  // namespace

ReportSection request_times_section(const ServingAnswer& answer) {
    ReportSection section{.title = "Where the time of requests went",
                          .note =
                              "Queue: up to the first step. Prompt: up to the first token. "
                              "Generation: up to the last, less the other parts."};
    section.table.columns = {{""},
                             {"mean", Unit::seconds},
                             {"of all", Unit::share},
                             {"p50", Unit::seconds},
                             {"p90", Unit::seconds},
                             {"p99", Unit::seconds}};
    for (std::size_t i = 0; i < kRequestParts.size(); ++i) {
        const LatencySummary& of = answer.parts_s[i];
        if (of.mean > 0) {
            section.table.rows.push_back({kRequestParts[i].name,
                                          of.mean,
                                          of.mean / answer.e2e_s.mean,
                                          of.p50,
                                          of.p90,
                                          of.p99});
        }
    }
    return section;
}

std::vector<ReportSection> load_sections(const ServingAnswer& answer,
                                         const ServedTimeline& timeline) {
    const auto lanes = timeline.fullest();
    if (lanes.empty()) {
        return {};
    }
    std::vector<ReportSection> sections;
    sections.push_back({.title = "Requests over time",
                        .note = "Of all instances of a pool; queues are counted while an instance "
                                "computes.",
                        .chart = chart_of(answer, timeline, kRequests, {"requests", ""})});
    sections.push_back({.title = "Use of the pools over time",
                        .note = "Share of a pool's instances. Caches are counted while an instance "
                                "computes.",
                        .chart = chart_of(answer, timeline, kUse, {"share", "share"})});
    sections.push_back(batches_section(answer, lanes));
    return sections;
}

std::string requests_csv(const std::vector<Request>& requests, const ServingResult& result) {
    std::string csv = "request,arrival_s,prompt_tokens,output_tokens,cached_tokens";
    for (const RequestPart& part : kRequestParts) {
        csv += fmt::format(",{}_s", part.key);
    }
    csv += ",ttft_s,tpot_s,e2e_s,preemptions,moves,refused\n";
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const RequestRecord& record = result.records[i];
        csv += fmt::format("{},{},{},{},{}",
                           i,
                           record.arrival.seconds(),
                           requests[i].prompt_tokens,
                           requests[i].output_tokens,
                           record.cached_tokens);
        if (record.finished()) {
            const RequestTimes times = times_of(record);
            for (const RequestPart& part : kRequestParts) {
                csv += fmt::format(",{}", (times.*part.time).seconds());
            }
            csv += fmt::format(",{},{},{}",
                               record.time_to_first_token().seconds(),
                               record.time_per_output_token().seconds(),
                               record.end_to_end().seconds());
        } else {
            csv.append(kRequestParts.size() + 3, ',');
        }
        csv += fmt::format(
            ",{},{},{}\n", record.preemptions, record.moves, record.refused ? "true" : "false");
    }
    return csv;
}

}  // namespace orrery
