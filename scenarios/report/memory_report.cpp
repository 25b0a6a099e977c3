// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/utf8.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report_words.h"

namespace orrery {

std::string tier_words(Bytes used, Bytes has, const BufferUse& largest) {
    if (has == Bytes{}) {
        return to_short_text(used) + " of a server";
    }
    const std::string text =
        fmt::format("{} of {} of a server: ", to_short_text(used), to_short_text(has));
    return used <= has ? text + "fits"
                       : text + fmt::format("DOES NOT FIT by {} (largest of a rank: {}, {})",
                                            to_short_text(used - has),
                                            cut(largest.name, 40),
                                            to_short_text(largest.bytes));
}

std::string does_not_fit_line(const MemoryUse& m) {
    const auto server = [](std::string_view what, Bytes used, Bytes has, const BufferUse& largest) {
        return fmt::format(
            "DOES NOT FIT: a server needs {} of {} and has {}, {} too little "
            "(the largest tensor of a rank: {}, {})",
            to_short_text(used),
            what,
            to_short_text(has),
            to_short_text(used - has),
            cut(largest.name, 40),
            to_short_text(largest.bytes));
    };
    if (m.needed() <= m.device && m.host > m.host_memory) {
        return server("host memory", m.host, m.host_memory, m.host_largest);
    }
    if (m.needed() <= m.device && m.drives_size > Bytes{} && m.drives > m.drives_size) {
        return server("drive space", m.drives, m.drives_size, m.drives_largest);
    }
    return fmt::format("DOES NOT FIT: the fullest GPU needs {} and has {} (rank {}, {})",
                       to_short_text(m.needed()),
                       to_short_text(m.device),
                       index(m.rank),
                       m.role);
}

ReportSection memory_section(const MemoryUse& m) {
    ReportSection section{.title = "Memory of the fullest GPU", .stacked = true};
    const auto fact = [&](const char* name, std::string words) {
        section.facts.push_back({name, std::move(words)});
    };
    fact("needed",
         fmt::format("{} of {}: {}",
                     to_short_text(m.needed()),
                     to_short_text(m.device),
                     m.needed() <= m.device ? "fits" : "DOES NOT FIT"));
    if (!m.overheads.empty()) {
        fact("plan's peak", to_short_text(m.peak) + "; the process takes the rest");
    }
    if (m.host > Bytes{}) {
        fact("host memory", tier_words(m.host, m.host_memory, m.host_largest));
    }
    if (m.drives > Bytes{}) {
        fact("drives", tier_words(m.drives, m.drives_size, m.drives_largest));
    }
    fact("fullest", fmt::format("rank {} ({}) in {}", index(m.rank), m.role, m.moment));
    const auto whole = static_cast<double>(std::max<std::int64_t>(1, m.device.count()));
    const auto add = [&](const std::string& kind, Bytes bytes) {
        const double share = static_cast<double>(bytes.count()) / whole;
        if (bytes > Bytes{}) {
            section.bars.push_back({.name = kind,
                                    .text = to_short_text(bytes),
                                    .more = cell_text(share, Unit::share),
                                    .share = share});
        }
    };
    for (std::size_t i = 0; i < kNumTensorKinds; ++i) {
        add(spaced(name(static_cast<TensorKind>(i))), m.of[i]);
    }
    add("gaps between tensors", m.peak - m.in_use);
    for (const MemoryOverhead& overhead : m.overheads) {
        add(overhead.name, overhead.bytes);
    }
    if (m.needed() > m.device) {
        section.table.columns = {{"largest buffers"}, {"kind"}, {"bytes", Unit::bytes}};
        for (const BufferUse& buffer : m.largest) {
            section.table.rows.push_back({buffer.name, name(buffer.kind), buffer.bytes});
        }
    }
    return section;
}

Report memory_sections(const MemoryValidation& validation) {
    ReportSection rows{
        .title = "Configurations",
        .note = "beside: of the driver, CUDA, NCCL and the allocator's fragments; it counts."};
    rows.table.columns = {{"case"},
                          {"outcome"},
                          {"peak", Unit::bytes},
                          {"predicted", Unit::bytes},
                          {"error", Unit::change},
                          {"beside", Unit::bytes},
                          {"wrong"}};
    for (const ValidatedMemory& row : validation.rows) {
        const bool known = row.measured_peak_b > 0;
        rows.table.rows.push_back({row.name,
                                   row.ran ? "ran" : "out of memory",
                                   known ? Cell{row.measured_peak_b} : Cell{},
                                   row.predicted_peak_b,
                                   known ? Cell{row.error()} : Cell{},
                                   row.beside_plan_b,
                                   row.ran == row.fits ? ""
                                   : row.fits          ? "would fit"
                                                       : "would not fit"});
    }
    rows.after = {
        fmt::format("{} of {} configurations that ran fit; {} of {} that ran out of "
                    "memory do not.",
                    validation.ran_and_fit,
                    validation.ran,
                    validation.out_and_too_large,
                    validation.out_of_memory)};
    if (validation.peaks > 0) {
        rows.after.push_back(
            fmt::format("The {} published peaks are off by {:.1f} % in the median.",
                        validation.peaks,
                        validation.median_error * 100));
    }
    ReportSection skipped{.title = "Not expressible", .table = {.columns = {{"case"}, {"reason"}}}};
    for (const SkippedMemory& skip : validation.skipped) {
        skipped.table.rows.push_back({skip.name, skip.reason});
    }
    return {.title = "Predicted memory and what became of published configurations",
            .sections = {std::move(rows), std::move(skipped)}};
}

std::string json_report(const MemoryValidation& validation) {
    using Json = nlohmann::ordered_json;
    Json rows = json_list<Json>(validation.rows, [](const ValidatedMemory& row) -> Json {
        return {
            {"case", row.name},
            {"family", row.family},
            {"ran", row.ran},
            {"fits", row.fits},
            {"measured_peak_bytes", row.measured_peak_b > 0 ? Json(row.measured_peak_b) : Json()},
            {"predicted_peak_bytes", row.predicted_peak_b},
            {"beside_plan_bytes", row.beside_plan_b}};
    });
    Json skipped = json_list<Json>(validation.skipped, [](const SkippedMemory& skip) -> Json {
        return {{"case", skip.name}, {"reason", skip.reason}};
    });
    return json_text(Json{{"rows", rows},
                          {"skipped", skipped},
                          {"overall",
                           {{"ran", validation.ran},
                            {"ran_and_fit", validation.ran_and_fit},
                            {"out_of_memory", validation.out_of_memory},
                            {"out_and_too_large", validation.out_and_too_large},
                            {"peaks", validation.peaks},
                            {"median_peak_error", validation.median_error}}}});
}

}  // namespace orrery
