// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/show.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/program/any_scenario.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/studies/diff/difference.h"
#include "scenarios/studies/diff/shown_scenario.h"

namespace orrery {
namespace {

// A table with every key and its value.
Report shown_sections(const std::string& file, const DocumentNode& shown) {
    ReportSection section{.title = "Scenario", .table = {.columns = {{"key"}, {"value"}}}};
    for (const auto& [key, value] : leaves_of(shown)) {
        section.table.rows.push_back({key, value});
    }
    return {.title = file, .sections = {std::move(section)}};
}

// The kind comes first, as in a file, because readers recognise a scenario by it.
DocumentNode with_kind(DocumentNode shown, const Scenario& scenario) {
    const DocumentNode* said =
        scenario.document != nullptr ? scenario.document->find("kind") : nullptr;
    const std::string kind = said != nullptr                    ? said->text
                             : shown.find("serving") != nullptr ? "serving"
                             : is_network_alone(scenario)       ? "network"
                                                                : "scenario";
    if (shown.find("kind") == nullptr) {
        shown.keys.insert(shown.keys.begin(), scalar_node("kind"));
        shown.items.insert(shown.items.begin(), scalar_node(kind));
    }
    return shown;
}

}  // namespace

int show_command(const ShowArguments& arguments) {
    const ResultOrErrors<Scenario> scenario =
        read_any_scenario(arguments.file, arguments.overrides);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    const DocumentNode shown = with_kind(
        arguments.plain ? scenario->origin->effective : shown_scenario(*scenario), *scenario);
    std::string heading = fmt::format("orrery show {}", arguments.file);
    for (const std::string& change : arguments.overrides) {
        heading += fmt::format(" --set '{}'", change);
    }
    const bool json = arguments.json || arguments.format == "json";
    const std::string text =
        json ? document_text(shown)
             : to_yaml(shown,
                       {heading, "Entries of the catalogue stand in the place of their names."});
    if (!arguments.output.empty()) {
        const auto written = OutputFile::write(arguments.output, text);
        return written ? kExitOk : report_error(written.error());
    }
    return json ? print_output(text)  // the scenario alone
                : show_output(arguments,
                              {.report = shown_sections(arguments.file, shown),
                               .json = {},
                               .provenance = {},
                               .text = text});
}

Command describe_show() {
    const auto arguments = std::make_shared<ShowArguments>();
    return {
        .name = "show",
        .group = CommandGroup::scenarios,
        .help = "Print a scenario as it is simulated: overrides, catalogue entries, defaults",
        .options =
            joined({{scenario_option(arguments->file, "a cluster is enough"),
                     override_option(arguments->overrides, every_key()),
                     output_option(arguments->output, "Write the scenario to a file"),
                     {"--plain", &arguments->plain, "Leave out the defaults of absent keys"}},
                    view_options(*arguments, {})}),
        .examples = {"show scenarios/llama3-8b-h100.yaml",
                     "show scenarios/llama3-8b-h100.yaml --set plan.precision=fp8 -o fp8.yaml"},
        .run = [arguments] { return show_command(*arguments); },
    };
}

}  // namespace orrery
