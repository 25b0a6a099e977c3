// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/import_words.h"

#include <fmt/format.h>

#include <cstdio>

#include "engine/base/standard_error.h"
#include "scenarios/format/catalogue/catalogue_entry.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/render/terminal.h"
#include "scenarios/studies/simulate/step_efficiency.h"

namespace orrery {

int write_imported(const ImportArguments& arguments, const std::string& text) {
    if (arguments.output.empty()) {
        return print_output(text);
    }
    const Result<void> written = OutputFile::write(arguments.output, text);
    return written ? kExitOk : report_error(written.error());
}

void note_lines(const std::vector<std::string>& lines) {
    for (const std::string& line : terminal().quiet ? std::vector<std::string>{} : lines) {
        print_to_stderr(fmt::format("{}\n", line));
    }
}

void note_each(const char* what, const std::vector<std::string>& list) {
    std::vector<std::string> lines;
    for (const std::string& one : list) {
        lines.push_back(fmt::format("{}: {}", what, one));
    }
    note_lines(lines);
}

Result<std::string> imported_file(const ImportArguments& arguments) {
    if (arguments.words.size() != 1) {
        return fail("orrery import " + arguments.format, "needs one file", "see orrery import -h");
    }
    return read_text_file(arguments.words.front());
}

std::uint32_t number_of_node(const std::string& node, const char* key, std::uint32_t otherwise) {
    const auto nodes = read_catalogue_section(default_catalogue(), "nodes");
    for (const CatalogueEntry& entry : nodes ? *nodes : std::vector<CatalogueEntry>{}) {
        if (entry.name == node && !entry.value_of(key).empty()) {
            return static_cast<std::uint32_t>(std::stoul(entry.value_of(key)));
        }
    }
    return otherwise;
}

std::uint32_t gpus_of_node(const std::string& node) {
    return number_of_node(node, "gpus_per_node", 8);
}

std::string unknown_software(const Scenario& scenario) {
    const char* what = "software: which one trains the model (--software NAME)";
    const auto table =
        read_efficiency_table((default_catalogue() / "step_efficiency.csv").string());
    if (!table) {
        return what;
    }
    const StepEfficiency step{*table, scenario.device};
    const double known = table->value_or("step.residual", scenario.device.generation, "*", 0);
    return fmt::format(
        "{}; an answer is uncertain by {:.0f} %, and by {:.0f} % for software whose "
        "steps were fitted",
        what,
        100 * step.residual({}, scenario.plan.precision).sigma,
        100 * known);
}

std::string fabric_of_import(const ImportArguments& arguments) {
    return arguments.fabric.empty() ? "ndr400-rail" : arguments.fabric;
}

}  // namespace orrery
