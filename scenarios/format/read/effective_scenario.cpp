// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/effective_scenario.h"

#include <algorithm>
#include <utility>

#include "scenarios/format/document/overrides.h"
#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

DocumentNode named_scalar(const DocumentNode& place, std::string text) {
    DocumentNode scalar = place;
    scalar.kind = DocumentNode::Kind::scalar;
    scalar.is_string = true;
    scalar.text = std::move(text);
    scalar.keys.clear();
    scalar.items.clear();
    return scalar;
}

// Replaces the name of a file by the file's text.
void put_file_in(DocumentNode* name, const fs::path& folder) {
    if (name == nullptr || !name->is_scalar() || name->text.empty() || is_table_text(name->text)) {
        return;
    }
    if (Result<std::string> text = read_text_file(name->folder(folder) / name->text)) {
        name->text = *text + (is_table_text(*text) ? "" : "\n");
        name->is_string = true;
    }
}

void put_factors_in(DocumentNode* congestion, const fs::path& folder) {
    if (congestion == nullptr || !congestion->is_scalar() || !congestion->text.ends_with(".yaml")) {
        return;
    }
    if (ResultOrErrors<DocumentNode> factors = read_yaml_file(folder / congestion->text)) {
        factors->set(named_scalar(*congestion, "name"), *congestion);
        *congestion = std::move(*factors);
    }
}

DocumentNode* inner_map(DocumentNode& map, std::string_view key) {
    DocumentNode* inner = map.find(key);
    return inner != nullptr && inner->is_map() ? inner : nullptr;
}

bool are_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

DocumentNode effective_scenario(DocumentNode document,
                                const std::string& name,
                                const fs::path& folder) {
    erase_key(document, "kind");
    document.set(named_scalar(document, "name"), named_scalar(document, name));
    if (DocumentNode* cluster = inner_map(document, "cluster")) {
        if (DocumentNode* node = inner_map(*cluster, "node")) {
            erase_key(*node, "nccl_topology");  // the node has its values as keys
        }
        if (DocumentNode* fabric = inner_map(*cluster, "fabric")) {
            put_file_in(fabric->find("file"), folder);
            put_file_in(fabric->find("link_matrix"), folder);
            put_file_in(fabric->find("nccl_choices"), folder);
        }
    }
    if (DocumentNode* network = inner_map(document, "network")) {
        put_factors_in(network->find("congestion"), folder);
    }
    if (DocumentNode* faults = document.find("faults")) {
        for (DocumentNode& fault : faults->items) {
            put_file_in(fault.find("file"), folder);
        }
    }
    return document;
}

bool is_json_value(std::string_view plain) {
    if (plain == "true" || plain == "false") {
        return true;
    }
    if (plain.starts_with('-') && plain != "-0") {
        plain.remove_prefix(1);
    }
    // Digits that survive a double.
    constexpr std::size_t kDigitsMax = 15;
    const std::size_t dot = plain.find('.');
    const std::string_view whole = plain.substr(0, dot);
    if (!are_digits(whole) || (whole.size() > 1 && whole[0] == '0') || plain.size() > kDigitsMax) {
        return false;
    }
    if (dot == std::string_view::npos) {
        return true;
    }
    const std::string_view fraction = plain.substr(dot + 1);
    const bool small = whole == "0" && fraction.starts_with("000");  // JSON would write an exponent
    return are_digits(fraction) && !fraction.ends_with('0') && !small;
}

DocumentNode from_json_form(DocumentNode json) {
    if (json.is_scalar()) {
        const bool null = json.text == "null" || json.text == "~" || json.text.empty();
        json.is_string = json.is_string && (null || is_json_value(json.text));
    }
    for (DocumentNode& item : json.items) {
        item = from_json_form(std::move(item));
    }
    return json;
}

}  // namespace orrery
