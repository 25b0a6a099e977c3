// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/catalogue/catalogue_entry.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/show_output.h"
#include "scenarios/report/catalogue_report.h"

namespace orrery {
namespace {

std::string pages(const std::vector<CatalogueEntry>& entries) {
    std::string text;
    for (const CatalogueEntry& entry : entries) {
        text += (text.empty() ? "" : "\n") + catalogue_page(entry);
    }
    return text;
}

}  // namespace

int catalogue_command(const CatalogueArguments& arguments) {
    std::vector<CatalogueEntry> all;
    std::vector<std::string> known;
    for (const std::string_view section : kCatalogueSections) {
        auto entries = read_catalogue_section(default_catalogue(), section);
        if (!entries) {
            return report_error(entries.error());
        }
        known.emplace_back(section);
        for (CatalogueEntry& entry : *entries) {
            known.push_back(entry.name);
            all.push_back(std::move(entry));
        }
    }
    const std::string& name = arguments.name;
    std::vector<CatalogueEntry> chosen;
    std::ranges::copy_if(all, std::back_inserter(chosen), [&](const CatalogueEntry& entry) {
        return name.empty() || entry.section == name || entry.name == name;
    });
    if (chosen.empty()) {
        const bool near = !nearest_names(name, known, 1).empty();
        return report_error({"catalogue",
                             fmt::format("has no entry or section '{}'", name),
                             near ? nearest_hint(name, known)
                                  : fmt::format("orrery catalogue lists the entries of {}",
                                                fmt::join(kCatalogueSections, ", "))});
    }
    const bool one = chosen.front().name == name;
    return show_output(arguments,
                       {.report = one ? entry_sections(chosen) : catalogue_sections(chosen),
                        .json = catalogue_json(chosen),
                        .provenance = provenance_of("catalogue"),
                        .text = one ? pages(chosen) : std::string{}});
}

Command describe_catalogue() {
    const auto arguments = std::make_shared<CatalogueArguments>();
    return {
        .name = "catalogue",
        .group = CommandGroup::scenarios,
        .help = "List the devices, nodes, fabrics, models … that are known, with their sources",
        .options =
            joined({{{"name", &arguments->name, "A section or an entry: that one whole", "NAME"}},
                    view_options(*arguments, {})}),
        .examples = {"catalogue devices", "catalogue dgx-h100", "catalogue models --json"},
        .run = [arguments] { return catalogue_command(*arguments); },
    };
}

}  // namespace orrery
