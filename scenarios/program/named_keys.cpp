// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "scenarios/program/keys.h"

namespace orrery {
namespace {

// "faults.mtbf" also names "faults[].mtbf".
bool is_path(const ScenarioKey& key, const std::string& name) {
    std::string plain = key.key;
    for (std::size_t at = 0; (at = plain.find("[]", at)) != std::string::npos;) {
        plain.erase(at, 2);
    }
    return key.key == name || plain == name;
}

}  // namespace

Keys keys_named(const Keys& all, const std::string& name) {
    Keys found;
    std::ranges::copy_if(
        all, std::back_inserter(found), [&](const auto& key) { return is_path(key, name); });
    if (found.empty()) {
        std::ranges::copy_if(all, std::back_inserter(found), [&](const ScenarioKey& key) {
            return key.name() == name || (!name.empty() && key.short_name == name);
        });
        // A search has keys of the plan with equal names: prefer the plan's.
        if (found.size() > 1) {
            std::erase_if(found, [](const ScenarioKey& key) { return key.section() == "search"; });
        }
    }
    return found;
}

Keys keys_below(const Keys& all, const ScenarioKey& map) {
    Keys found;
    std::ranges::copy_if(all, std::back_inserter(found), [&](const ScenarioKey& key) {
        return key.key.starts_with(map.key + ".") || key.key.starts_with(map.key + "[].");
    });
    // The map may be described elsewhere: cluster.ethernet has the keys of cluster.fabric.
    return found.empty() ? all_keys(*map.inner, map.key) : found;
}

}  // namespace orrery
