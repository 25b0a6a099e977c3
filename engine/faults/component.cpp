// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/component.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace orrery {
namespace {

struct ScopeWords {
    Scope scope;
    std::string_view name;
    std::string_view one;
    std::string_view many;
};
constexpr std::array<ScopeWords, kNumScopes> kWords = {{
    {Scope::gpu, "gpu", "GPU", "GPUs"},
    {Scope::nic, "nic", "NIC", "NICs"},
    {Scope::node, "node", "node", "nodes"},
    {Scope::rack, "rack", "rack", "racks"},
    {Scope::leaf, "leaf", "leaf switch", "leaf switches"},
    {Scope::pdu, "pdu", "power feed", "power feeds"},
    {Scope::pod, "pod", "pod", "pods"},
    {Scope::job, "job", "job", "jobs"},
    {Scope::spine, "spine", "spine switch", "spine switches"},
    {Scope::site, "site", "site", "sites"},
}};
constexpr bool words_are_in_order() {
    for (std::size_t i = 0; i < kNumScopes; ++i) {
        if (kWords[i].scope != static_cast<Scope>(i)) {
            return false;
        }
    }
    return true;
}
static_assert(words_are_in_order());

constexpr std::string_view kForms =
    "node:17, node:17/gpu:3, node:17/nic:0, rack:4, leaf:2, spine:1, pdu:1, pod:0, site, job, or "
    "node:*";

// Scopes with a single component, which need no number.
bool is_single(Scope scope) {
    return scope == Scope::job || scope == Scope::site;
}

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
        case Scope::site:
            return shape.nodes;
        default:
            return 1;
    }
}

std::uint32_t parts_of_node(const ClusterShape& shape, Scope scope) {
    return scope == Scope::gpu ? shape.gpus_per_node : shape.nics_per_node;
}

std::size_t index_of(Scope scope) {
    return static_cast<std::size_t>(scope);
}

struct Word {
    Scope scope = Scope::node;
    std::uint32_t index = kEvery;
};

std::optional<Word> parse_word(std::string_view text) {
    const std::size_t colon = text.find(':');
    const auto found = std::ranges::find(kWords, text.substr(0, colon), &ScopeWords::name);
    if (found == kWords.end()) {
        return std::nullopt;
    }
    Word word{.scope = found->scope};
    if (colon == std::string_view::npos) {
        return is_single(word.scope) ? std::optional{Word{word.scope, 0}} : std::nullopt;
    }
    if (word.scope == Scope::job) {
        return std::nullopt;
    }
    const std::string_view number = text.substr(colon + 1);
    if (number == "*") {
        return is_single(word.scope) ? Word{word.scope, 0} : word;
    }
    const auto [stop, error] =
        std::from_chars(number.data(), number.data() + number.size(), word.index);
    const bool whole = error == std::errc{} && stop == number.data() + number.size();
    return whole && !number.empty() && word.index != kEvery ? std::optional{word} : std::nullopt;
}

Result<Component> outside(const Word& word, std::uint32_t count, std::string_view of) {
    if (count == 0) {
        return fail({}, fmt::format("the cluster has no {}", kWords[index_of(word.scope)].one));
    }
    return fail({},
                fmt::format("there is no {}:{}{}", name(word.scope), word.index, of),
                fmt::format("{}:0 to {}:{}", name(word.scope), name(word.scope), count - 1));
}

}  // namespace

std::string_view name(Scope scope) {
    return kWords[index_of(scope)].name;
}

std::string count_of(Scope scope, std::uint32_t count) {
    std::string digits = fmt::format("{}", count);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    const ScopeWords& words = kWords[index_of(scope)];
    return fmt::format("{} {}", digits, count == 1 ? words.one : words.many);
}

std::uint32_t ClusterShape::components(Scope scope) const {
    switch (scope) {
        case Scope::gpu:
            return nodes * gpus_per_node;
        case Scope::nic:
            return nodes * nics_per_node;
        case Scope::job:
            return 1;
        case Scope::spine:
            return spines;
        default: {
            const std::uint32_t size = std::max(1U, nodes_per(*this, scope));
            const std::uint32_t domains = (nodes + size - 1) / size;
            return scope == Scope::leaf ? domains * std::max(1U, leaves_per_set) : domains;
        }
    }
}

NodeRange nodes_of(const ClusterShape& shape, Component component) {
    if (component.scope == Scope::job || component.scope == Scope::spine) {
        return {};
    }
    if (component.scope == Scope::gpu || component.scope == Scope::nic) {
        return {component.index / parts_of_node(shape, component.scope), 1};
    }
    const std::uint32_t size = std::max(1U, nodes_per(shape, component.scope));
    const bool leaf = component.scope == Scope::leaf;
    const std::uint32_t domain =
        leaf ? component.index / std::max(1U, shape.leaves_per_set) : component.index;
    const std::uint32_t first = domain * size;
    return {first, std::min(size, shape.nodes - first)};
}

Component domain_of(const ClusterShape& shape, Scope scope, std::uint32_t node) {
    switch (scope) {
        case Scope::job:
        case Scope::spine:
            return {scope, 0};
        case Scope::gpu:
        case Scope::nic:
            return {scope, node * parts_of_node(shape, scope)};
        default: {
            const std::uint32_t domain = node / std::max(1U, nodes_per(shape, scope));
            return {scope,
                    scope == Scope::leaf ? domain * std::max(1U, shape.leaves_per_set) : domain};
        }
    }
}

std::uint64_t entity_of(Component component) {
    return std::uint64_t{static_cast<std::uint8_t>(component.scope)} << 32 | component.index;
}

std::string to_text(const ClusterShape& shape, Component component) {
    if (is_single(component.scope)) {
        return std::string{name(component.scope)};
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
