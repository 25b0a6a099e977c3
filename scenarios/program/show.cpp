// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/show.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/program/any_scenario.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/studies/diff/shown_scenario.h"

namespace orrery {
namespace {

int write_shown(const std::string& name, const std::string& text) {
    const auto written = OutputFile::write(name, text);
    return written ? kExitOk : report_error(written.error());
}

}  // namespace

int show_command(const ShowArguments& arguments) {
    const ResultOrErrors<Scenario> scenario =
        read_any_scenario(arguments.file, arguments.overrides);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    const DocumentNode shown =
        arguments.plain ? scenario->origin->effective : shown_scenario(*scenario);
    std::string heading = fmt::format("orrery show {}", arguments.file);
    for (const std::string& change : arguments.overrides) {
        heading += fmt::format(" --set '{}'", change);
    }
    const std::string text = arguments.json
                                 ? document_text(shown)
                                 : to_yaml(shown,
                                           {heading,
                                            "Entries of the catalogue stand in the place of "
                                            "their names."});
    return arguments.output.empty() ? print_output(text) : write_shown(arguments.output, text);
}

Command describe_show() {
    const auto arguments = std::make_shared<ShowArguments>();
    return {
        .name = "show",
        .help = "Print a scenario as it is simulated: overrides, catalogue entries, defaults",
        .options = {scenario_option(arguments->file, "a cluster is enough"),
                    override_option(arguments->overrides),
                    output_option(arguments->output, "Write the scenario to a file"),
                    {"--plain", &arguments->plain, "Leave out the defaults of absent keys"},
                    {"--json", &arguments->json, "Print JSON in place of YAML"}},
        .examples = {"show scenarios/llama3-8b-h100.yaml",
                     "show scenarios/llama3-8b-h100.yaml --set plan.precision=fp8 -o fp8.yaml"},
        .run = [arguments] { return show_command(*arguments); },
    };
}

}  // namespace orrery
