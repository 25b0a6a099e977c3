// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/component.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace orrery {
namespace {

constexpr std::array<std::string_view, 8> kNames = {
    "gpu", "nic", "node", "rack", "leaf", "pdu", "pod", "job"};
constexpr std::string_view kForms =
    "node:17, node:17/gpu:3, node:17/nic:0, rack:4, leaf:2, pdu:1, pod:0, job, or node:*";

std::uint32_t nodes_per(const ClusterShape& shape, Scope scope) {
    switch (scope) {
        case Scope::rack:
            return shape.nodes_per_rack;
        case Scope::leaf:
            return shape.nodes_per_leaf;
        case Scope::pdu:
            return shape.nodes_per_pdu;
        case Scope::pod:
            return shape.nodes_per_pod;
        default:
            return 1;
    }
}

std::uint32_t parts_of_node(const ClusterShape& shape, Scope scope) {
    return scope == Scope::gpu ? shape.gpus_per_node : shape.nics_per_node;
}

struct Word {
    Scope scope = Scope::node;
    std::uint32_t index = kEvery;
};

std::optional<Word> parse_word(std::string_view text) {
    const std::size_t colon = text.find(':');
    const auto found = std::find(kNames.begin(), kNames.end(), text.substr(0, colon));
    if (found == kNames.end()) {
        return std::nullopt;
    }
    Word word{.scope = static_cast<Scope>(found - kNames.begin())};
    if (word.scope == Scope::job) {
        return colon == std::string_view::npos ? std::optional{Word{Scope::job, 0}} : std::nullopt;
    }
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view number = text.substr(colon + 1);
    if (number == "*") {
        return word;
    }
    const auto [stop, error] =
        std::from_chars(number.data(), number.data() + number.size(), word.index);
    const bool whole = error == std::errc{} && stop == number.data() + number.size();
    return whole && !number.empty() && word.index != kEvery ? std::optional{word} : std::nullopt;
}

Result<Component> outside(const Word& word, std::uint32_t count, std::string_view of) {
    return fail({},
                fmt::format("there is no {}:{}{}", name(word.scope), word.index, of),
                fmt::format("{}:0 to {}:{}", name(word.scope), name(word.scope), count - 1));
}

}  // namespace

std::string_view name(Scope scope) {
    return kNames[static_cast<std::size_t>(scope)];
}

std::uint32_t ClusterShape::components(Scope scope) const {
    switch (scope) {
        case Scope::gpu:
            return nodes * gpus_per_node;
        case Scope::nic:
            return nodes * nics_per_node;
        case Scope::job:
            return 1;
        default: {
            const std::uint32_t size = std::max(1U, nodes_per(*this, scope));
            return (nodes + size - 1) / size;
        }
    }
}

NodeRange nodes_of(const ClusterShape& shape, Component component) {
    if (component.scope == Scope::job) {
        return {};
    }
    if (component.scope == Scope::gpu || component.scope == Scope::nic) {
        return {component.index / parts_of_node(shape, component.scope), 1};
    }
    const std::uint32_t size = std::max(1U, nodes_per(shape, component.scope));
    const std::uint32_t first = component.index * size;
    return {first, std::min(size, shape.nodes - first)};
}

std::uint64_t entity_of(Component component) {
    return std::uint64_t{static_cast<std::uint8_t>(component.scope)} << 32 | component.index;
}

std::string to_text(const ClusterShape& shape, Component component) {
    if (component.scope == Scope::job) {
        return "job";
    }
    if (component.index == kEvery) {
        return fmt::format("{}:*", name(component.scope));
    }
    if (component.scope == Scope::gpu || component.scope == Scope::nic) {
        const std::uint32_t parts = parts_of_node(shape, component.scope);
        return fmt::format("node:{}/{}:{}",
                           component.index / parts,
                           name(component.scope),
                           component.index % parts);
    }
    return fmt::format("{}:{}", name(component.scope), component.index);
}

Result<Component> parse_component(std::string_view text, const ClusterShape& shape) {
    const std::size_t slash = text.find('/');
    const std::optional<Word> word = parse_word(text.substr(0, slash));
    if (!word) {
        return fail({}, fmt::format("'{}' names no component", text), std::string{kForms});
    }
    const std::uint32_t count = shape.components(word->scope);
    if (word->index != kEvery && word->index >= count) {
        return outside(*word, count, "");
    }
    if (slash == std::string_view::npos) {
        return Component{word->scope, word->index};
    }
    const std::optional<Word> part = parse_word(text.substr(slash + 1));
    const bool in_node = part && (part->scope == Scope::gpu || part->scope == Scope::nic);
    if (word->scope != Scope::node || !in_node) {
        return fail({}, fmt::format("'{}' names no component", text), std::string{kForms});
    }
    if (word->index == kEvery || part->index == kEvery) {
        if (word->index == part->index) {
            return Component{part->scope, kEvery};
        }
        return fail({},
                    fmt::format("'{}' names some parts of some nodes", text),
                    "one component, or gpu:* for all");
    }
    const std::uint32_t parts = parts_of_node(shape, part->scope);
    if (part->index >= parts) {
        return outside(*part, parts, fmt::format(" in node:{}", word->index));
    }
    return Component{part->scope, word->index * parts + part->index};
}

}  // namespace orrery
