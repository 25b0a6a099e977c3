// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/settings.h"

#include <fmt/format.h>

#include <string_view>

#include "scenarios/format/document/yaml_document.h"

namespace orrery {

std::string assignment(const std::string& key, const std::string& value) {
    return key + "=" + value;
}

std::vector<std::string> overrides_of(const Settings& settings) {
    std::vector<std::string> overrides;
    for (const auto& [key, value] : settings) {
        overrides.push_back(assignment(key, value));
    }
    return overrides;
}

void read_settings(const DocumentNode& node,
                   const std::string& path,
                   Settings& settings,
                   SettingPlaces& places,
                   Errors& errors) {
    if (!node.is_map()) {
        errors.push_back({node.where(),
                          fmt::format("'{}' must be a map of keys, not {}", path, node.describe()),
                          "write it like {plan.micro_batch_size: 2}"});
        return;
    }
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
        const auto& [key, value] =
            settings.emplace_back(node.keys[i].text, to_flow_yaml(node.items[i]));
        places.emplace(assignment(key, value), node.items[i].where());
    }
}

Error placed_in_file(Error error,
                     const std::vector<std::string>& overrides,
                     const SettingPlaces& places) {
    static constexpr std::string_view kOption = "--set ";
    if (!error.where.starts_with(kOption)) {
        return error;
    }
    // The key, or the section that several settings made.
    const std::string key = error.where.substr(kOption.size());
    for (const std::string& change : overrides) {
        const auto place = places.find(change);
        const bool about = change.starts_with(key + "=") || change.starts_with(key + ".");
        if (about && place != places.end()) {
            error.where = place->second;
        }
    }
    return error;
}

}  // namespace orrery
