// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/keys.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/format/document/key_synonyms.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/show_output.h"
#include "scenarios/report/keys_report.h"

namespace orrery {
namespace {

int unknown_name(const Keys& all, const std::string& name) {
    std::vector<std::string> known;
    for (const ScenarioKey& key : all) {
        known.push_back(key.key);
    }
    // Other programs' names of a key come before similar names.
    const std::string called = key_called(name);
    return report_error({"keys",
                         fmt::format("'{}' is no key or section", name),
                         !called.empty()                         ? called
                         : nearest_names(name, known, 1).empty() ? "orrery keys lists all"
                                                                 : nearest_hint(name, known)});
}

int print_schema(const std::string& name) {
    const FileKind* kind = file_kind(name.empty() ? "scenario" : name);
    if (kind != nullptr) {
        return print_output(keys_schema(*kind, Catalogue{default_catalogue()}));
    }
    std::vector<std::string> words;
    for (const FileKind& known : file_kinds()) {
        words.emplace_back(known.word);
    }
    return report_error(
        {"keys", fmt::format("'{}' is no kind of file", name), nearest_hint(name, words)});
}

}  // namespace

int keys_command(const KeysArguments& arguments) {
    const std::string& name = arguments.name;
    if (arguments.schema) {
        return print_schema(name);
    }
    const Keys all = scenario_keys();
    Keys chosen = name.empty() ? all : keys_named(all, name);
    const FileKind* kind = file_kind(name);
    if (chosen.empty() && kind != nullptr) {
        chosen = all_keys(*kind->keys);
    }
    if (chosen.empty()) {
        return unknown_name(all, name);
    }
    const bool one = chosen.size() == 1 && chosen.front().inner == nullptr;
    if (chosen.size() == 1 && !one) {
        chosen = keys_below(all, chosen.front());
    }
    return show_output(arguments,
                       {.report = keys_sections(chosen),
                        .json = keys_json(chosen),
                        .provenance = provenance_of("keys"),
                        .text = one ? key_page(chosen.front()) : keys_report(chosen)});
}

Command describe_keys() {
    const auto arguments = std::make_shared<KeysArguments>();
    return {
        .name = "keys",
        .group = CommandGroup::scenarios,
        .help = "List keys of a scenario: their values, defaults and meanings",
        .options =
            joined({{{"name", &arguments->name, "A section, a key or a kind of file", "NAME"},
                     {"--schema",
                      &arguments->schema,
                      "Print the JSON Schema of a kind of file, NAME [scenario]"}},
                    view_options(*arguments, {})}),
        .examples = {"keys plan", "keys plan.schedule", "keys --schema sweep"},
        .run = [arguments] { return keys_command(*arguments); },
    };
}

}  // namespace orrery
