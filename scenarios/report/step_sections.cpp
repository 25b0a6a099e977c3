// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/memory_report.h"
#include "scenarios/report/report.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

std::string spaced(std::string_view name) {
    std::string text{name};
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

// One row: what a table of many results has of each.
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

ReportSection waterfall_of(const Answer& a) {
    ReportSection section{.title = "Where the peak goes"};
    section.bars.push_back({"device peak", "100.0 %", to_short_text(a.iteration), 1});
    double left = 1;
    for (const LostMfu& lost : a.lost_mfu) {
        section.bars.push_back({.name = words_for(lost.cause),
                                .text = cell_text(lost.mfu, Unit::share),
                                .more = to_short_text(lost.time),
                                .share = left,
                                .begin = left - lost.mfu});
        left -= lost.mfu;
    }
    section.bars.push_back({"MFU", cell_text(a.mfu, Unit::share), "", a.mfu});
    return section;
}

ReportSection memory_of(const MemoryUse& m) {
    ReportSection section{.title = "Memory of the fullest GPU"};
    section.table.columns = {{"kind"}, {"bytes", Unit::bytes}, {"of the GPU", Unit::share}};
    const auto whole = static_cast<double>(std::max<std::int64_t>(1, m.device.count()));
    const auto add = [&](const std::string& kind, Bytes bytes) {
        section.table.rows.push_back({kind, bytes, static_cast<double>(bytes.count()) / whole});
    };
    for (std::size_t i = 0; i < kNumTensorKinds; ++i) {
        if (m.of[i] > Bytes{}) {
            add(spaced(name(static_cast<TensorKind>(i))), m.of[i]);
        }
    }
    if (m.in_use < m.peak) {
        add("gaps between tensors", m.peak - m.in_use);
    }
    add("peak", m.peak);
    for (const MemoryOverhead& overhead : m.overheads) {
        add(overhead.name, overhead.bytes);
    }
    if (!m.overheads.empty()) {
        add("all", m.needed());
    }
    section.after = {fmt::format("Rank {} ({}) in {}; the GPU has {}.",
                                 index(m.rank),
                                 m.role,
                                 m.moment,
                                 to_short_text(m.device))};
    return section;
}

ReportSection expert_rows_of(const Answer& a) {
    ReportSection section{.title = "Rows of experts over the mean"};
    section.table.columns = {{"layer", Unit::count},
                             {"busiest expert", Unit::number},
                             {"busiest rank", Unit::count},
                             {"its rows", Unit::number},
                             {"busiest of a micro-batch", Unit::number},
                             {"dropped", Unit::share}};
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
    section.table.columns = {{"class"}, {"mean", Unit::share}, {"busiest", Unit::share}};
    for (const LinkUse& use : a.network) {
        section.table.rows.push_back({spaced(use.link_class), use.mean, use.max});
    }
    return section;
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
                             {"each alone", Unit::seconds},
                             {"all", Unit::seconds}};
    for (const CollectiveUse& use : a.collectives) {
        section.table.rows.push_back({spaced(use.name),
                                      use.ranks,
                                      use.bytes,
                                      use.algorithm,
                                      use.protocol,
                                      spaced(name(use.engine)),
                                      use.count,
                                      use.alone.seconds(),
                                      use.alone.seconds() * static_cast<double>(use.count)});
    }
    return section;
}

ReportSection assumed_of(const Answer& a) {
    ReportSection section{.title = "Assumed, as the scenario does not say"};
    section.table.columns = {{"key"}, {"value"}};
    for (const auto& [key, value] : a.assumed) {
        section.table.rows.push_back({key, value});
    }
    return section;
}

}  // namespace

Report step_sections(const Answer& a) {
    Report report{.title = a.scenario};
    if (!a.memory.fits) {
        report.lines.push_back(does_not_fit_line(a.memory));
    }
    report.lines.push_back(fmt::format("{} on {} ({}): {}",
                                       a.model.empty() ? "a model" : a.model,
                                       counted(a.ranks, "GPU"),
                                       a.device,
                                       a.cluster));
    report.lines.push_back(fmt::format("{}; {} of {} in {}",
                                       a.plan,
                                       counted(a.global_batch_size, "sequence"),
                                       counted(a.seq_length, "token"),
                                       counted(a.micro_batches, "micro-batch")));
    report.lines.insert(report.lines.end(), a.remarks.begin(), a.remarks.end());
    report.lines.insert(report.lines.end(), a.faults.begin(), a.faults.end());
    report.cards = {{to_short_text(a.iteration),
                     fmt::format("iteration time, ± {:.1f} %", a.uncertainty * 100)},
                    {thousands(static_cast<std::int64_t>(a.tokens_per_s)), "tokens a second"},
                    {cell_text(a.mfu, Unit::share), "MFU (full attention)"},
                    {cell_text(a.hfu, Unit::share), "HFU (full attention)"},
                    {to_short_text(a.memory.peak),
                     a.memory.fits ? "peak memory of a GPU" : "peak memory: does not fit",
                     !a.memory.fits}};
    report.result = step_result(a);
    report.sections = {waterfall_of(a), memory_of(a.memory)};
    for (ReportSection& section :
         std::vector{expert_rows_of(a), links_of(a), collectives_of(a), assumed_of(a)}) {
        if (!section.table.rows.empty()) {
            report.sections.push_back(std::move(section));
        }
    }
    report.footer =
        fmt::format("Orrery {}, {} network, seed {}.", a.version, a.network_model, a.seed);
    return report;
}

}  // namespace orrery
