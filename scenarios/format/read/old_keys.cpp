// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/old_keys.h"

#include <fmt/format.h>

#include "kernels/csv_rows.h"

namespace orrery {
namespace {

struct OldKey {
    std::string_view section;
    std::string_view old_name;
    std::string_view name;
    double added = 0;  // added to the value
    std::string_view why;
};

constexpr OldKey kOldKeys[] = {
    {"cluster", "slow_node_slowdown", "slow_node_factor", 1, "1.1 means 1.1 times as long"}};

}  // namespace

std::vector<std::string> rename_old_keys(DocumentNode& map, std::string_view section) {
    std::vector<std::string> lines;
    for (const OldKey& one : kOldKeys) {
        const std::size_t at =
            map.is_map() && one.section == section ? key_position(map, one.old_name) : kNoKey;
        if (at == kNoKey || map.find(one.name) != nullptr) {
            continue;  // if both names exist, the old one is an unknown key
        }
        DocumentNode& value = map.items[at];
        if (const auto number = parse_number(value.text)) {
            value.text = fmt::format("{:.12g}", *number + one.added);
        }
        map.keys[at].text = one.name;
        lines.push_back(
            fmt::format("{}: {}.{} is now {}.{}: {} ({}); the old spelling will go with the next "
                        "release",
                        map.keys[at].where(),
                        one.section,
                        one.old_name,
                        one.section,
                        one.name,
                        value.text,
                        one.why));
    }
    return lines;
}

}  // namespace orrery
