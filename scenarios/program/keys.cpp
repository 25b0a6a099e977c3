// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "scenarios/format/document/key_synonyms.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/keys_report.h"
#include "scenarios/report/provenance_report.h"

namespace orrery {

int keys_command(const KeysArguments& arguments) {
    const std::string& name = arguments.name;
    std::vector<ScenarioKey> chosen;
    std::vector<std::string> known;
    bool one = false;
    for (ScenarioKey& key : scenario_keys()) {
        const std::string own = key.key.substr(key.key.find('.') + 1);
        for (const std::string& word : {key.section(), key.key}) {
            if (std::ranges::find(known, word) == known.end()) {
                known.push_back(word);
            }
        }
        const bool named =
            !name.empty() && (name == key.key || name == own || name == key.short_name);
        if (named || name.empty() || name == key.section()) {
            one = named;
            chosen.push_back(std::move(key));
        }
    }
    if (chosen.empty()) {
        const bool near = !nearest_names(name, known, 1).empty();
        const std::string called = key_called(name);
        return report_error({"keys",
                             fmt::format("'{}' is no key or section that is described", name),
                             near ? nearest_hint(name, known)
                             : called.empty()
                                 ? "orrery keys lists all; other sections are not described yet"
                                 : called});
    }
    if (arguments.json) {
        return print_output(with_provenance(keys_json(chosen), provenance_of("keys")));
    }
    return print_output(one ? key_page(chosen.front()) : keys_report(chosen));
}

Command describe_keys() {
    const auto arguments = std::make_shared<KeysArguments>();
    return {
        .name = "keys",
        .help = "List keys of a scenario: their values, defaults and meanings",
        .options = {{"name", &arguments->name, "A section or a key: that one alone", "NAME"},
                    {"--json", &arguments->json, "Print one JSON object instead of a report"}},
        .examples = {"keys plan", "keys plan.schedule"},
        .run = [arguments] { return keys_command(*arguments); },
    };
}

}  // namespace orrery
