// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/document_node.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "engine/base/check.h"
#include "scenarios/format/document/utf8.h"

namespace orrery {

std::string DocumentNode::where() const {
    const std::string name = source ? *source : std::string{};
    return line == 0 ? name : fmt::format("{}:{}:{}", name, line, column);
}

std::filesystem::path DocumentNode::folder(const std::filesystem::path& of_scenario) const {
    return line == 0 || !source ? of_scenario : std::filesystem::path{*source}.parent_path();
}

std::size_t key_position(const DocumentNode& map, std::string_view key) {
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
        if (map.keys[i].text == key) {
            return i;
        }
    }
    return kNoKey;
}

const DocumentNode* DocumentNode::find(std::string_view key) const {
    const std::size_t i = key_position(*this, key);
    return i == kNoKey ? nullptr : &items[i];
}

DocumentNode* DocumentNode::find(std::string_view key) {
    const std::size_t i = key_position(*this, key);
    return i == kNoKey ? nullptr : &items[i];
}

void DocumentNode::set(DocumentNode key, DocumentNode value) {
    ORRERY_CHECK(is_map());
    const std::size_t i = key_position(*this, key.text);
    if (i == kNoKey) {
        keys.push_back(std::move(key));
        items.push_back(std::move(value));
    } else {
        keys[i] = std::move(key);
        items[i] = std::move(value);
    }
}

std::string DocumentNode::describe() const {
    switch (kind) {
        case Kind::map:
            return "a map";
        case Kind::sequence:
            return "a list";
        case Kind::null:
            return "nothing";
        case Kind::scalar:
            break;
    }
    constexpr std::size_t kLongest = 40;
    const std::string head = cut(text, kLongest);
    return fmt::format("'{}{}'", head, head.size() < text.size() ? "…" : "");
}

DocumentNode scalar_node(std::string text, std::string remark, const std::string& where) {
    DocumentNode node;
    node.source = where.empty() ? nullptr : std::make_shared<const std::string>(where);
    node.kind = DocumentNode::Kind::scalar;
    node.text = std::move(text);
    node.remark = std::move(remark);
    return node;
}

DocumentNode list_node(const std::vector<std::string>& scalars) {
    DocumentNode node;
    node.kind = DocumentNode::Kind::sequence;
    for (const std::string& text : scalars) {
        node.items.push_back(scalar_node(text));
    }
    return node;
}

void put(DocumentNode& root, std::string_view path, DocumentNode value) {
    DocumentNode* map = &root;
    for (std::size_t dot = path.find('.');; dot = path.find('.')) {
        if (map->kind == DocumentNode::Kind::null) {
            map->kind = DocumentNode::Kind::map;
            map->source = map->source ? map->source : value.source;
        }
        DocumentNode key = scalar_node(std::string{path.substr(0, dot)});
        key.source = value.source;
        const std::string name = key.text;
        if (dot == std::string_view::npos) {
            map->set(std::move(key), std::move(value));
            return;
        }
        if (map->find(name) == nullptr) {
            map->set(std::move(key), {});
        }
        map = map->find(name);
        path.remove_prefix(dot + 1);
    }
}

namespace {

// The node at the beginning of the path that exists, and the rest of the path.
std::pair<const DocumentNode*, std::string_view> follow(const DocumentNode& root,
                                                        std::string_view path) {
    const DocumentNode* node = &root;
    while (!path.empty()) {
        const std::size_t dot = path.find('.');
        const std::string_view step = path.substr(0, dot);
        const std::size_t bracket = step.find('[');
        const DocumentNode* child = node->find(step.substr(0, bracket));
        if (child == nullptr) {
            break;
        }
        node = child;
        if (bracket != std::string_view::npos) {
            std::size_t item = 0;
            std::from_chars(step.data() + bracket + 1, step.data() + step.size(), item);
            if (!node->is_sequence() || item >= node->items.size()) {
                break;
            }
            node = &node->items[item];
        }
        path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    }
    return {node, path};
}

}  // namespace

std::string where_of_path(const DocumentNode& root, std::string_view path) {
    return follow(root, path).first->where();
}

bool has_path(const DocumentNode& root, std::string_view path) {
    return follow(root, path).second.empty();
}

}  // namespace orrery
