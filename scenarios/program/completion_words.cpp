// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/read/file_kind.h"
#include "scenarios/format/read/scenario_keys.h"
#include "scenarios/program/completion.h"
#include "scenarios/program/spelling.h"

namespace orrery {

std::vector<CompletedFlag> completed_flags(const Command& command) {
    std::vector<CompletedFlag> flags;
    for (const CommandOption& option : command.options) {
        const bool has_value = !std::holds_alternative<bool*>(option.target);
        for (std::string& flag : flags_of(option)) {
            if (option.now.empty()) {
                flags.push_back({std::move(flag), option.help, has_value});
            }
        }
    }
    flags.push_back({"--help", "Print this command's help", false});
    return flags;
}

std::string shell_quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        out += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
    }
    return out + "'";
}

std::string keys_to_set() {
    std::string words;
    for (const ScenarioKey& key : scenario_keys()) {
        const bool one = key.shape != KeyShape::map && key.shape != KeyShape::map_list;
        if (one && key.use != FieldUse::derived && key.key.find('[') == std::string::npos) {
            words += (words.empty() ? "" : " ") + key.key;
        }
    }
    return words;
}

std::string catalogue_names() {
    const Catalogue catalogue{default_catalogue()};
    std::string sections;
    std::string names;
    for (const FileKind& kind : file_kinds()) {
        if (!kind.catalogue.empty()) {
            sections += (sections.empty() ? "" : " ") + std::string{kind.catalogue};
            for (const std::string& name : catalogue.names(kind.catalogue)) {
                names += " " + name;
            }
        }
    }
    return sections + names;
}

}  // namespace orrery
