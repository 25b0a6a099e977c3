// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diff/difference.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace orrery {
namespace {

// A number and its unit: 400 and " Gbps".
struct Measure {
    double value = 0;
    std::string unit;
};

std::optional<Measure> measure_of(const std::string& text) {
    Measure measure;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, measure.value);
    if (text.empty() || read.ec != std::errc{}) {
        return std::nullopt;
    }
    measure.unit = std::string{read.ptr, end};
    const bool word = !measure.unit.empty() && measure.unit.front() != ' ';  // "1f1b", "0.1.0"
    return word ? std::nullopt : std::optional{measure};
}

bool are_scalars(const DocumentNode& list) {
    return std::ranges::all_of(list.items, &DocumentNode::is_scalar);
}

std::string list_text(const DocumentNode& list) {
    std::string text = "[";
    for (const DocumentNode& item : list.items) {
        text += (text.size() > 1 ? ", " : "") + item.text;
    }
    return text + "]";
}

using Leaves = std::vector<std::pair<std::string, std::string>>;

void add_leaves(const DocumentNode& node, const std::string& path, Leaves& leaves) {
    switch (node.kind) {
        case DocumentNode::Kind::null:
            leaves.emplace_back(path, "null");
            return;
        case DocumentNode::Kind::scalar:
            leaves.emplace_back(path, node.text);
            return;
        case DocumentNode::Kind::sequence:
            if (are_scalars(node)) {
                leaves.emplace_back(path, list_text(node));
                return;
            }
            for (std::size_t i = 0; i < node.items.size(); ++i) {
                add_leaves(node.items[i], path + "[" + std::to_string(i) + "]", leaves);
            }
            return;
        case DocumentNode::Kind::map:
            break;
    }
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
        const std::string& key = node.keys[i].text;
        add_leaves(node.items[i], path.empty() ? key : path + "." + key, leaves);
    }
}

}  // namespace

std::optional<double> Difference::change() const {
    const auto from = before ? measure_of(*before) : std::nullopt;
    const auto to = after ? measure_of(*after) : std::nullopt;
    const bool comparable = from && to && from->unit == to->unit && from->value != 0;
    return comparable ? std::optional{to->value / from->value - 1} : std::nullopt;
}

std::vector<std::pair<std::string, std::string>> leaves_of(const DocumentNode& document) {
    Leaves leaves;
    add_leaves(document, "", leaves);
    return leaves;
}

std::vector<Difference> differences(const DocumentNode& before,
                                    const DocumentNode& after,
                                    const std::vector<std::string_view>& left_out) {
    const auto is_left_out = [&](const std::string& key) {
        const std::string first = key.substr(0, key.find_first_of(".["));
        return std::ranges::find(left_out, first) != left_out.end();
    };
    std::map<std::string, std::string> now;
    const Leaves all_after = leaves_of(after);
    now.insert(all_after.begin(), all_after.end());
    std::set<std::string> known;
    std::vector<Difference> found;
    for (const auto& [key, value] : leaves_of(before)) {
        known.insert(key);
        const auto other = now.find(key);
        if (is_left_out(key) || (other != now.end() && other->second == value)) {
            continue;
        }
        found.push_back({key, value, {}});
        if (other != now.end()) {
            found.back().after = other->second;
        }
    }
    for (const auto& [key, value] : all_after) {
        if (!is_left_out(key) && !known.contains(key)) {
            found.push_back({key, {}, value});
        }
    }
    return found;
}

}  // namespace orrery
