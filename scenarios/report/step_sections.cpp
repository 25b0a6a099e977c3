// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/explain_report.h"
#include "scenarios/report/memory_report.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

constexpr std::size_t kCollectivesShown = 12;

// The row of a step in a table of many results.
ReportTable step_result(const Answer& a) {
    ReportTable table;
    table.columns = {{"scenario"},
                     {"gpus", Unit::count},
                     {"iteration", Unit::seconds},
                     {"uncertainty", Unit::share},
                     {"tokens_per_s", Unit::number},
                     {"mfu", Unit::share},
                     {"hfu", Unit::share},
                     {"peak_memory", Unit::bytes},
                     {"device_memory", Unit::bytes},
                     {"fits"}};
    table.rows = {{a.scenario,
                   a.ranks,
                   a.iteration,
                   a.uncertainty,
                   a.tokens_per_s,
                   a.mfu,
                   a.hfu,
                   a.memory.peak,
                   a.memory.device,
                   a.memory.fits ? "true" : "false"}};
    return table;
}

std::string parameters_text(std::int64_t parameters) {
    const auto count = static_cast<double>(parameters);
    return count < 1e9    ? fmt::format("{:.4g} million parameters", count * 1e-6)
           : count < 1e12 ? fmt::format("{:.4g} billion parameters", count * 1e-9)
                          : fmt::format("{:.4g} trillion parameters", count * 1e-12);
}

std::vector<ReportFact> facts_of(const Answer& a) {
    std::vector<ReportFact> facts{
        {"model", (a.model.empty() ? "" : a.model + ", ") + parameters_text(a.parameters)},
        {"cluster", fmt::format("{} ({}): {}", counted(a.ranks, "GPU"), a.device, a.cluster)},
        {"plan", a.plan},
        {"batch",
         fmt::format("{} of {}, {}",
                     counted(a.global_batch_size, "sequence"),
                     counted(a.seq_length, "token"),
                     counted(a.micro_batches, "micro-batch"))}};
    if (const std::string assumed = assumed_words(a); !assumed.empty()) {
        facts.push_back({"assumed", assumed});
    }
    return facts;
}

// The reason for a wider interval, and the interval that holds 90 % of such steps.
std::string unseen_line(const Answer& a) {
    const char* what = a.unseen == Unseen::software  ? "software"
                       : a.unseen == Unseen::lineage ? "software or its kin"
                       : a.unseen == Unseen::experts ? "kind of model"
                                                     : "device and precision";
    const auto at = [&](double sigmas) {
        const double times = std::exp(a.shift + sigmas * a.uncertainty);
        return to_short_text(Time::seconds(a.iteration.seconds() * times));
    };
    return fmt::format(
        "No step of this {} was fitted, so the interval is wider: 90 % of such steps take {} to "
        "{}, half of them more than {}.",
        what,
        at(-kQuantile95),
        at(kQuantile95),
        at(0));
}

std::vector<std::string> lines_of(const Answer& a) {
    std::vector<std::string> lines;
    if (!a.memory.fits) {
        lines.push_back(does_not_fit_line(a.memory));
    }
    std::ranges::copy(a.remarks, std::back_inserter(lines));
    if (a.unseen != Unseen::nothing) {
        lines.push_back(unseen_line(a));
    }
    if (std::string left_out = faults_left_out_line(a.faults_left_out); !left_out.empty()) {
        lines.push_back(std::move(left_out));
    }
    return lines;
}

std::vector<Figure> figures_of(const Answer& a) {
    const auto share = [](double value) { return cell_text(value, Unit::share); };
    const auto causal = [&](double value) {
        return fmt::format("full attention; causal {}", share(value));
    };
    const bool fits = a.memory.needed() <= a.memory.device;
    return {
        {.value = to_short_text(a.iteration),
         .what = "iteration time",
         .more = fmt::format("± {}", share(a.uncertainty))},
        {.value = thousands(std::llround(a.tokens_per_s)) + " tokens/s",
         .what = "throughput",
         .more = fmt::format("{:.1f} model TFLOP/s per GPU", a.mfu * a.peak.per_second() * 1e-12)},
        {.value = share(a.mfu), .what = "MFU", .more = causal(a.mfu_causal)},
        {.value = share(a.hfu), .what = "HFU", .more = causal(a.hfu_causal)},
        {.value = to_short_text(a.memory.needed()),
         .what = "memory of a GPU",
         .bad = !fits,
         .more =
             fmt::format("of {}{}", to_short_text(a.memory.device), fits ? "" : ": does not fit")}};
}

ReportSection expert_rows_of(const Answer& a) {
    ReportSection section{.title = "Rows of experts over the mean"};
    section.table.columns = {{"layer", Unit::count},
                             {"busiest expert", Unit::number},
                             {"busiest rank", Unit::count},
                             {"its rows", Unit::number},
                             {"busiest of a micro-batch", Unit::number},
                             {"dropped", Unit::share}};
    section.table.shown = kCollectivesShown;
    section.table.rest = "layers more";
    for (const LayerRows& rows : a.expert_rows) {
        section.table.rows.push_back(
            {rows.layer,
             *std::max_element(rows.of_experts.begin(), rows.of_experts.end()),
             static_cast<std::int64_t>(index(rows.busiest)),
             rows.most,
             rows.mean_of_most,
             rows.dropped});
    }
    if (!a.rows_of_rank.empty()) {
        const auto most = std::max_element(a.rows_of_rank.begin(), a.rows_of_rank.end());
        section.after = {fmt::format("Over the step rank {} has most rows: {:.3f} times the mean.",
                                     most - a.rows_of_rank.begin(),
                                     *most)};
    }
    return section;
}

ReportSection links_of(const Answer& a) {
    ReportSection section{.title = "Use of the links"};
    for (const LinkUse& use : a.network) {
        section.bars.push_back({.name = spaced(use.link_class),
                                .text = "mean " + cell_text(use.mean, Unit::share),
                                .more = "busiest " + cell_text(use.max, Unit::share),
                                .share = use.max});
    }
    for (const LinkHeat& heat : a.heat) {
        section.heat.push_back({heat.link_class, heat.utilisation, {}, heat.links});
    }
    return section;
}

std::string moved_by(const CollectiveUse& use) {
    switch (use.engine) {
        case TransferEngine::sm:
            return counted(use.sms, "SM");
        case TransferEngine::copy_engine:
            return "copy engine";
        case TransferEngine::host:
            break;
    }
    return "host";
}

// Merges calls with equal names, printed sizes and algorithms into one row. Rows are sorted by
// their bytes.
std::vector<CollectiveUse> merged_collectives(const Answer& a) {
    std::vector<CollectiveUse> merged;
    for (const CollectiveUse& use : a.collectives) {
        const auto same = std::find_if(merged.begin(), merged.end(), [&](const CollectiveUse& m) {
            return m.name == use.name && to_short_text(m.bytes) == to_short_text(use.bytes) &&
                   m.ranks == use.ranks && m.algorithm == use.algorithm &&
                   m.protocol == use.protocol && moved_by(m) == moved_by(use);
        });
        if (same == merged.end()) {
            merged.push_back(use);
        } else {
            same->count += use.count;
        }
    }
    return merged;
}

// Use of a profile's collectives, including measurements of nccl-tests.
std::string measured_line(const Answer& a) {
    std::int64_t all = 0;
    std::int64_t measured = 0;
    for (const CollectiveUse& use : a.collectives) {
        all += use.count;
        measured += use.algorithm == "measured" ? use.count : 0;
    }
    const std::string others =
        a.profile_transfers_here == a.profile_transfers
            ? ""
            : fmt::format(", {} of another device", a.profile_transfers - a.profile_transfers_here);
    return fmt::format(
        "The profile has {}{}. It times {} of {} collectives of a step ('measured'); the network "
        "model times those across servers and of other kinds.",
        counted(static_cast<std::int64_t>(a.profile_transfers), "transfer"),
        others,
        thousands(measured),
        thousands(all));
}

ReportSection collectives_of(const Answer& a) {
    ReportSection section{.title = "Collectives of a step"};
    section.table.columns = {{"collective"},
                             {"ranks", Unit::count},
                             {"bytes", Unit::bytes},
                             {"algorithm"},
                             {"protocol"},
                             {"moved by"},
                             {"count", Unit::count},
                             {"alone", Unit::seconds},
                             {"all", Unit::seconds}};
    section.table.shown = kCollectivesShown;
    section.table.rest = "smaller ones";
    for (const CollectiveUse& use : merged_collectives(a)) {
        section.table.rows.push_back({spaced(use.name),
                                      use.ranks,
                                      use.bytes,
                                      use.algorithm,
                                      use.protocol,
                                      moved_by(use),
                                      use.count,
                                      use.alone.seconds(),
                                      use.alone.seconds() * static_cast<double>(use.count)});
    }
    section.after = {"alone: one call, while nothing else moves; all: this times the count."};
    if (a.profile_transfers > 0) {
        section.after.push_back(measured_line(a));
    }
    return section;
}

PageTimeline lanes_of(const TimelineBars& timeline) {
    PageTimeline picture{.scale = 1e-9, .names = timeline.names};
    for (std::size_t kind = 0; kind < kNumBarKinds; ++kind) {
        picture.kinds.emplace_back(name(static_cast<BarKind>(kind)));
    }
    for (const Lane& lane : timeline.lanes) {
        PageLane drawn{.name = lane.stream,
                       .owner = fmt::format("{} #{}", lane.role, index(lane.rank)),
                       .first = lane.first};
        for (const Bar& bar : lane.bars) {
            drawn.spans.push_back({.kind = static_cast<std::size_t>(bar.kind),
                                   .begin = bar.begin_ns,
                                   .length = bar.length_ns,
                                   .name = bar.name,
                                   .micro_batch = bar.micro_batch});
        }
        picture.lanes.push_back(std::move(drawn));
    }
    return picture;
}

// The process takes its own part of the device's memory. The rest is the plan's.
PageChart memory_chart(const MemoryOverTime& memory, const MemoryUse& of) {
    const Bytes left = of.device - of.beside_plan();
    PageChart chart{.x = {"time in the step", "s"},
                    .y = {"bytes, one kind on the other", "bytes"},
                    .stacked = true,
                    .limit = PageLimit{"memory for the plan", static_cast<double>(left.count())}};
    for (const MemoryOverTime::Moment& moment : memory.moments) {
        chart.xs.push_back(static_cast<double>(moment.at_ns) * 1e-9);
    }
    for (std::size_t kind = 0; kind < kNumTensorKinds; ++kind) {
        PageSeries series{.name = std::string{name(static_cast<TensorKind>(kind))}};
        for (const MemoryOverTime::Moment& moment : memory.moments) {
            series.values.emplace_back(static_cast<double>(moment.of.of[kind].count()));
        }
        chart.series.push_back(std::move(series));
    }
    return chart;
}

std::vector<ReportSection> pictures_of(const TimelineBars& timeline, const Answer& a) {
    std::vector<ReportSection> pictures;
    if (!timeline.lanes.empty()) {
        pictures.push_back(
            {.title = "Ranks over time",
             .note = "One rank of each role, and the slowest rank, in the last simulated step. "
                     "Empty space is waiting. Zoom in to tell operations apart.",
             .timeline = lanes_of(timeline)});
    }
    if (timeline.memory.moments.size() > 1) {
        pictures.push_back({.title = "Memory over time: " + timeline.memory.role,
                            .chart = memory_chart(timeline.memory, a.memory)});
    }
    return pictures;
}

std::string footer_of(const Answer& a) {
    const auto share = [](double value) { return fmt::format("{:.0f} %", value * 100); };
    return fmt::format(
        "Kernel time: {} measured, {} interpolated, {} roofline. Network: {}.\n{}"
        "Simulated {} in {} and {}:\n{}, {} on {}, {}.\nOrrery {}, seed {}.",
        share(a.cost_sources.measured),
        share(a.cost_sources.interpolated),
        share(a.cost_sources.roofline),
        a.network_model,
        a.unprofiled_cpu ? "This CPU was never profiled: `orrery profile` measures its kernels.\n"
                         : "",
        counted(a.simulated_ops, "op"),
        to_short_text(Time::seconds(a.wall_s)),
        to_short_text(Bytes{a.peak_rss_bytes}),
        a.fold_classes == 1 ? "1 fold class" : thousands(a.fold_classes) + " fold classes",
        counted(a.flows, "flow"),
        counted(a.distinct_paths, "path"),
        counted(a.rate_solves, "rate solve"),
        a.version,
        a.seed);
}

// The MFU may also count fewer FLOPs than kernels do: a loss.
bool is_executed_not_counted(const LostMfu& lost) {
    return lost.cause == Cause::counted_not_executed && lost.mfu > 0;
}

std::string words_of_line(const LostMfu& lost) {
    return is_executed_not_counted(lost) ? "executed, not counted" : words_for(lost.cause);
}

}  // namespace

ReportSection waterfall_section(const Answer& a, const std::string& title) {
    ReportSection section{.title = title};
    std::vector<LossOfMfu> meanings = limits(a);
    meanings.push_back({.cause = Cause::counted_not_executed,
                        .words = "FLOPs that the MFU counts and kernels skip: a gain"});
    section.bars.push_back({"device peak", "100.0 %", to_short_text(a.iteration), 1});
    double left = 1;
    for (const LostMfu& lost : a.lost_mfu) {
        const auto meaning = std::ranges::find(meanings, lost.cause, &LossOfMfu::cause);
        // The MFU is the peak minus the losses plus the gains.
        section.bars.push_back(
            {.name = (lost.mfu < 0 ? "+ " : "- ") + words_of_line(lost),
             .text = cell_text(std::abs(lost.mfu), Unit::share),
             .more = to_short_text(lost.time < Time{} ? Time{} - lost.time : lost.time),
             .share = left,
             .begin = left - lost.mfu,
             .help = is_executed_not_counted(lost) ? "FLOPs that kernels do and the MFU leaves out"
                     : meaning == meanings.end()   ? ""
                                                   : meaning->words});
        left -= lost.mfu;
    }
    section.bars.push_back({"= MFU", cell_text(a.mfu, Unit::share), "", a.mfu});
    return section;
}

Report step_sections(const Answer& a, const TimelineBars* timeline) {
    Report report{.title = a.scenario,
                  .lines = lines_of(a),
                  .cards = figures_of(a),
                  .sections = step_fault_sections(a),
                  .footer = footer_of(a),
                  .facts = facts_of(a),
                  .result = step_result(a)};
    report.sections.push_back(waterfall_section(a, "Where the peak goes"));
    if (timeline != nullptr) {
        std::ranges::move(pictures_of(*timeline, a), std::back_inserter(report.sections));
    }
    for (ReportSection& section : std::vector{memory_section(a.memory),
                                              expert_rows_of(a),
                                              links_of(a),
                                              packets_section(a),
                                              collectives_of(a)}) {
        if (!section.table.rows.empty() || !section.bars.empty() || !section.facts.empty()) {
            report.sections.push_back(std::move(section));
        }
    }
    return report;
}

}  // namespace orrery
