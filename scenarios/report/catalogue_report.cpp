// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/catalogue_report.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/text_table.h"

namespace orrery {
namespace {

constexpr std::size_t kCatalogueWidth = 100;

// Keys that distinguish the entries of a section.
std::vector<std::string> columns_of(const std::string& section) {
    static const std::map<std::string, std::vector<std::string>> kColumns{
        {"devices", {"generation", "peak_fp16", "peak_fp8", "memory", "memory_bandwidth"}},
        {"nodes", {"device", "gpus_per_node", "intra_node", "nvlink_bandwidth"}},
        {"fabrics", {"kind", "nics_per_node", "nic_bandwidth", "tiers", "oversubscription"}},
        {"models",
         {"num_layers", "hidden_size", "num_attention_heads", "seq_length", "vocab_size"}},
        {"stacks", {"base", "attention_kernel", "gradient_dtype"}},
        {"engines", {"scheduler", "host_per_step", "memory_share", "max_num_seqs"}},
        {"congestion_controls", {"algorithm", "ring", "point_to_point"}},
    };
    const auto found = kColumns.find(section);
    return found == kColumns.end() ? std::vector<std::string>{} : found->second;
}

ReportSection catalogue_section(std::string_view section,
                                const std::vector<CatalogueEntry>& entries) {
    ReportSection shown{.title = std::string{section}};
    const std::vector<std::string> columns = columns_of(shown.title);
    shown.table.columns.push_back({"name"});
    for (const std::string& column : columns) {
        shown.table.columns.push_back({.title = column, .right = true});
    }
    for (const CatalogueEntry& entry : entries) {
        std::vector<Cell> row{entry.name};
        for (const std::string& column : columns) {
            const std::string value = entry.value_of(column);
            // A rate of 0 says that the device has no such kernels.
            row.emplace_back(value.empty() || value.starts_with("0 ") ? "-" : value);
        }
        if (entry.section == section) {
            shown.table.rows.push_back(std::move(row));
        }
    }
    return shown;
}

ReportSection entry_section(const CatalogueEntry& entry) {
    ReportSection section{
        .title = fmt::format("{} ({})", entry.name, entry.section),
        .note = entry.about,
        .table = {.columns = {{"figure"}, {.title = "value", .right = true}, {"source"}}}};
    for (const CatalogueFigure& figure : entry.figures) {
        section.table.rows.push_back({figure.key, figure.value, figure.source});
    }
    return section;
}

}  // namespace

Report catalogue_sections(const std::vector<CatalogueEntry>& entries) {
    Report report{.title = "Catalogue"};
    for (const std::string_view section : kCatalogueSections) {
        ReportSection shown = catalogue_section(section, entries);
        if (!shown.table.rows.empty()) {
            report.sections.push_back(std::move(shown));
        }
    }
    return report;
}

Report entry_sections(const std::vector<CatalogueEntry>& entries) {
    Report report{.title = entries.front().name};
    for (const CatalogueEntry& entry : entries) {
        report.sections.push_back(entry_section(entry));
    }
    return report;
}

std::string catalogue_page(const CatalogueEntry& entry) {
    std::string text = fmt::format("{}  ({})\n\n", entry.name, entry.section);
    text += wrapped(entry.about, kCatalogueWidth, 2) + (entry.about.empty() ? "" : "\n");
    std::size_t width = 0;
    for (const CatalogueFigure& figure : entry.figures) {
        width = std::max(width, figure.key.size());
    }
    for (const CatalogueFigure& figure : entry.figures) {
        text += fmt::format("  {:<{}}  {}\n", figure.key, width, figure.value);
        text += wrapped(figure.source, kCatalogueWidth, width + 8);
    }
    return text;
}

std::string catalogue_json(const std::vector<CatalogueEntry>& entries) {
    using Json = nlohmann::ordered_json;
    Json json = Json::object();
    for (const CatalogueEntry& entry : entries) {
        Json figures = Json::object();
        for (const CatalogueFigure& figure : entry.figures) {
            figures[figure.key] = {{"value", figure.value}, {"source", figure.source}};
        }
        json[entry.section][entry.name] = {{"about", entry.about}, {"figures", figures}};
    }
    return json_text(json);
}

}  // namespace orrery
