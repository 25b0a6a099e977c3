// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "models/plan/plan_fields.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/format/document/read_field.h"

namespace orrery {
namespace {

constexpr std::string_view kStackSection = "stacks";
constexpr std::array<std::string_view, 6> kStackGenerations{
    "volta", "ampere", "ada", "hopper", "blackwell", "cpu"};

bool is_selector(std::string_view word) {
    return std::ranges::count(stack_selectors(), word) > 0;
}

// The value for these devices and this precision; precisions precede generations. Null if there is
// none.
const DocumentNode* chosen_value(const DocumentNode& value,
                                 std::string_view generation,
                                 std::string_view precision,
                                 Errors& errors) {
    if (!value.is_map()) {
        return &value;
    }
    for (const DocumentNode& key : value.keys) {
        if (!is_selector(key.text)) {
            errors.push_back({key.where(),
                              fmt::format("'{}' is no precision and no generation", key.text),
                              fmt::format("otherwise, a precision, or one of {}",
                                          fmt::join(kStackGenerations, ", "))});
            return nullptr;
        }
    }
    for (const std::string_view word : {precision, generation, std::string_view{"otherwise"}}) {
        if (const DocumentNode* found = value.find(word)) {
            return found;
        }
    }
    return nullptr;
}

DocumentNode name_node(const DocumentNode& at, std::string text) {
    DocumentNode node = at;
    node.text = std::move(text);
    return node;
}

// Whether the value of this key of the plan is a stack's.
bool is_of_a_stack(const DocumentNode& root, std::string_view path) {
    constexpr std::string_view kPlan = "plan.";
    const DocumentNode* const plan = root.find("plan");
    if (plan == nullptr || !path.starts_with(kPlan)) {
        return false;
    }
    const DocumentNode* const value = plan->find(path.substr(kPlan.size()));
    return value != nullptr && value->source != nullptr &&
           std::filesystem::path{*value->source}.parent_path().filename() == kStackSection;
}

std::string precision_of(const DocumentNode& plan) {
    const DocumentNode* precision = plan.find(plan_field<&ParallelPlan::precision>.name);
    return precision != nullptr && precision->is_scalar() ? precision->text
                                                          : std::string{name(Dtype::bf16)};
}

}  // namespace

std::vector<std::string> stack_selectors() {
    std::vector<std::string> words{"otherwise"};
    for (const Choice<Dtype>& precision : kPrecisions) {
        words.emplace_back(precision.word);
    }
    words.insert(words.end(), kStackGenerations.begin(), kStackGenerations.end());
    return words;
}

std::string stack_entry(std::string_view stack, const Catalogue& catalogue) {
    std::string wanted{stack};
    std::ranges::transform(wanted, wanted.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const std::vector<std::string> known = catalogue.names(kStackSection);
    while (!wanted.empty()) {
        if (std::binary_search(known.begin(), known.end(), wanted)) {
            return wanted;
        }
        // "nemo24.07": a version without a dash.
        const std::size_t letters = wanted.find_last_not_of("0123456789.");
        const bool versioned = letters != std::string::npos && letters + 1 < wanted.size();
        const std::size_t dash = wanted.rfind('-');
        if (versioned && (dash == std::string::npos || letters > dash)) {
            wanted.resize(letters + 1);
        } else {
            wanted.resize(dash == std::string::npos ? 0 : dash);
        }
    }
    return {};
}

DocumentNode stack_defaults(const DocumentNode& stack,
                            const Catalogue& catalogue,
                            std::string_view generation,
                            std::string_view precision,
                            Errors& errors) {
    DocumentNode defaults;
    defaults.kind = DocumentNode::Kind::map;
    const std::string entry = stack_entry(stack.text, catalogue);
    if (!stack.is_scalar() || entry.empty()) {
        errors.push_back({stack.where(),
                          fmt::format("the catalogue has no stack {}", stack.describe()),
                          nearest_hint(stack.text, catalogue.names(kStackSection))});
        return defaults;
    }
    const DocumentNode map = catalogue.resolve(
        name_node(stack, entry), kStackSection, std::string{kStackSection}, errors);
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
        if (map.keys[i].text == "name") {
            continue;
        }
        if (const auto* value = chosen_value(map.items[i], generation, precision, errors)) {
            defaults.set(map.keys[i], *value);
        }
    }
    return defaults;
}

void read_given(const DocumentNode& map, ParallelPlan& plan, Errors& errors) {
    MapReader reader{map, "plan", errors};
    for_each_plan_field([&](const auto& field) {
        if (field.use != FieldUse::derived && map.find(field.name) != nullptr) {
            read_field(reader, field, plan.*field.member);
        }
    });
    reader.finish();
}

void add_stack_defaults(DocumentNode& plan,
                        const DocumentNode& stack,
                        const Catalogue& catalogue,
                        std::string_view generation,
                        Errors& errors) {
    if (!plan.is_map()) {
        return;
    }
    const DocumentNode defaults =
        stack_defaults(stack, catalogue, generation, precision_of(plan), errors);
    for (std::size_t i = 0; i < defaults.keys.size(); ++i) {
        if (plan.find(defaults.keys[i].text) == nullptr) {
            plan.set(defaults.keys[i], defaults.items[i]);
        }
    }
}

Errors refused_in_training(const DocumentNode& root, Errors refused) {
    Errors errors;
    std::vector<std::string> of_stack;
    for (Error& error : refused) {
        if (is_of_a_stack(root, error.where)) {
            of_stack.push_back(std::move(error.where));
            continue;
        }
        error.where = where_of_path(root, error.where);
        errors.push_back(std::move(error));
    }
    if (!of_stack.empty()) {
        const DocumentNode* const stack = root.find("stack");
        errors.push_back({where_of_path(root, "stack"),
                          fmt::format("stack {} describes another program than the runtime: {}",
                                      stack == nullptr ? std::string{"?"} : stack->describe(),
                                      fmt::join(of_stack, ", ")),
                          "stack: orrery, which trains the same model and layout"});
    }
    return errors;
}

void add_stack(const DocumentNode& owner,
               DocumentNode& plan,
               const Catalogue& catalogue,
               Scenario& scenario,
               Errors& errors) {
    const DocumentNode* const named = owner.find("stack");
    if (named == nullptr) {
        return;
    }
    if (named->is_scalar() && scenario.software.empty()) {
        scenario.software = named->text;
    }
    const DocumentNode stack = *named;
    add_stack_defaults(plan, stack, catalogue, scenario.device.generation, errors);
}

}  // namespace orrery
