// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/overrides.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace {

using Source = std::shared_ptr<const std::string>;

// Sets the place of all nodes of an override: the option itself.
void place_at(DocumentNode& node, const Source& source) {
    node.source = source;
    node.line = 0;
    node.column = 0;
    for (DocumentNode& key : node.keys) {
        place_at(key, source);
    }
    for (DocumentNode& item : node.items) {
        place_at(item, source);
    }
}

DocumentNode scalar(const std::string& text, const Source& source) {
    DocumentNode node;
    node.kind = DocumentNode::Kind::scalar;
    node.text = text;
    node.source = source;
    return node;
}

// The map under `key`, made if it is missing; a name becomes {base: name}. Null for a list.
DocumentNode* child_map(DocumentNode& parent, const std::string& key, const Source& source) {
    DocumentNode* child = parent.find(key);
    if (child == nullptr || child->kind == DocumentNode::Kind::null) {
        DocumentNode empty;
        empty.kind = DocumentNode::Kind::map;
        empty.source = source;
        empty.extends = true;
        parent.set(scalar(key, source), std::move(empty));
        return parent.find(key);
    }
    if (child->is_scalar()) {
        DocumentNode map;
        map.kind = DocumentNode::Kind::map;
        map.source = child->source;
        map.line = child->line;
        map.column = child->column;
        DocumentNode base_key = *child;
        base_key.text = "base";
        map.set(std::move(base_key), std::move(*child));
        *child = std::move(map);
    }
    return child->is_map() ? child : nullptr;
}

// A part of a path: "kinds[1]" is item 1 of the list under "kinds".
struct Step {
    std::string key;
    std::optional<std::size_t> item;
    bool good = true;

    explicit Step(const std::string& text) : key(text.substr(0, text.find('['))) {
        if (key.size() == text.size()) {
            return;
        }
        std::size_t number = 0;
        const char* const first = text.data() + key.size() + 1;
        const char* const last = text.data() + text.size() - 1;
        const auto read = std::from_chars(first, last, number);
        good = !key.empty() && read.ec == std::errc{} && read.ptr == last && *last == ']';
        item = number;
    }
};

// The item of a step, or null.
DocumentNode* item_of(DocumentNode& parent, const Step& step) {
    DocumentNode* list = parent.find(step.key);
    const bool there =
        list != nullptr && step.good && list->is_sequence() && *step.item < list->items.size();
    return there ? &list->items[*step.item] : nullptr;
}

}  // namespace

void apply_override(DocumentNode& root, const std::string& assignment, Errors& errors) {
    const std::size_t equals = assignment.find('=');
    std::string path = assignment.substr(0, equals);
    const auto source = std::make_shared<const std::string>("--set " + path);
    const auto complain = [&](std::string what, std::string hint) {
        errors.push_back({*source, std::move(what), std::move(hint)});
    };
    constexpr const char* kExample = "write it like --set plan.global_batch_size=768";
    const bool nameless = ("." + path + ".").find("..") != std::string::npos;
    if (equals == std::string::npos || nameless) {
        complain(fmt::format("'{}' is not of the form key=value", assignment), kExample);
        return;
    }
    ResultOrErrors<DocumentNode> value = parse_yaml(assignment.substr(equals + 1), *source);
    if (!value) {
        const bool empty = value.error().front().cause == ErrorCause::empty_input;
        const std::string_view given = std::string_view{assignment}.substr(equals + 1);
        if (empty && given.find_first_not_of(' ') != std::string_view::npos) {
            complain(fmt::format("'{}' is no value", given),
                     "without a value in the file or here, a key has its default");
            return;
        }
        complain(empty ? "there is no value after '='" : value.error().front().what, kExample);
        return;
    }
    place_at(*value, source);
    DocumentNode* map = &root;
    std::size_t begin = 0;
    for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
        const Step step{path.substr(begin, dot - begin)};
        if (step.item) {
            map = item_of(*map, step);
            if (map == nullptr || !map->is_map()) {
                complain(fmt::format("there is no such item of a list: {}",
                                     path.substr(begin, dot - begin)),
                         "items are numbered from 0: cluster.kinds[0].nodes=4");
                return;
            }
        } else if (map = child_map(*map, step.key, source); map == nullptr) {
            complain("leads into a list",
                     "set one of its items, key[0].name=1, or the whole list: key=[1, 2]");
            return;
        } else if (map->extends && map->source != source) {
            // An error of the map as a whole is none of the option that happened to make it.
            map->source = std::make_shared<const std::string>("--set " + path.substr(0, dot));
        }
        begin = dot + 1;
    }
    const Step last{path.substr(begin)};
    if (!last.item) {
        map->set(scalar(last.key, source), std::move(*value));
    } else if (DocumentNode* item = item_of(*map, last)) {
        *item = std::move(*value);
    } else {
        complain(fmt::format("there is no such item of a list: {}", path.substr(begin)),
                 "items are numbered from 0");
    }
}

void erase_key(DocumentNode& map, std::string_view key) {
    if (const std::size_t at = key_position(map, key); at != kNoKey) {
        map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(at));
        map.items.erase(map.items.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

}  // namespace orrery
