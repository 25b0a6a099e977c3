// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/plan/plan_fields.h"
#include "models/plan/plan_words.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/format/read/read_stack.h"

namespace orrery {
namespace {

constexpr std::string_view kRecipes = "recipes";
constexpr std::string_view kHostCallsKey = "host_calls";
constexpr double kLeastHostCalls = 0.1;
constexpr double kMostHostCalls = 10;

// The column that says what a key of the plan says. Modules belong to how much is computed again: a
// row states both or neither.
std::string_view column_of(std::string_view key) {
    using Plan = ParallelPlan;
    if (key == plan_field<&Plan::recompute_modules>.name) {
        return plan_field<&Plan::recompute_granularity>.name;
    }
    return key == plan_field<&Plan::moe_token_dispatcher_type>.name ? "token_dispatcher" : key;
}

// A release's calls take its hosts that many times as long as the device's launch_cost says.
void set_host_calls(const DocumentNode& recipes,
                    const Catalogue& catalogue,
                    std::string_view gpu,
                    DeviceSpec& device,
                    Errors& errors) {
    const DocumentNode* const factors = recipes.find(kHostCallsKey);
    if (factors == nullptr) {
        return;
    }
    if (!factors->is_map()) {
        errors.push_back(
            {factors->where(), "host_calls is a map of devices", "host_calls: {gb200: 1.9}"});
        return;
    }
    const std::vector<std::string> devices = catalogue.names("devices");
    for (const auto& key : factors->keys) {
        if (!std::ranges::binary_search(devices, key.text)) {
            errors.push_back({key.where(),
                              fmt::format("host_calls: no device '{}'", key.text),
                              nearest_hint(key.text, devices)});
        }
    }
    MapReader reader{*factors, std::string{kHostCallsKey}, errors};
    double factor = 1;
    if (reader.real(gpu, factor, kLeastHostCalls, kMostHostCalls)) {
        device.launch_cost = Time::seconds(device.launch_cost.seconds() * factor);
    }
}

}  // namespace

bool states(const PublishedCase& row, std::string_view column) {
    return is_case_column(column) && std::ranges::count(row.assumed, column) == 0;
}

std::string recipe_entry(std::string_view stack, const Catalogue& catalogue) {
    const std::vector<std::string> known = catalogue.names(kRecipes);
    std::string wanted{stack};
    while (!wanted.empty() && !std::ranges::binary_search(known, wanted)) {
        const std::size_t dot = wanted.rfind('.');
        wanted.resize(dot == std::string::npos ? 0 : dot);
    }
    return wanted;
}

Result<void> set_recipe(const PublishedCase& row,
                        const Catalogue& catalogue,
                        DeviceSpec& device,
                        ParallelPlan& plan) {
    const std::string entry = recipe_entry(row.stack, catalogue);
    if (entry.empty()) {
        return {};
    }
    Errors errors;
    const std::string section{kRecipes};
    const DocumentNode recipes = catalogue.resolve(scalar_node(entry), section, section, errors);
    set_host_calls(recipes, catalogue, row.gpu, device, errors);
    if (!errors.empty()) {
        return unexpected<Error>(errors.front());
    }
    const DocumentNode* const recipe =
        recipes.find(fmt::format("{} {} {}", row.model.name, row.gpu, name(row.plan.precision)));
    if (recipe == nullptr || !recipe->is_map()) {
        return {};
    }
    DocumentNode open;
    open.kind = DocumentNode::Kind::map;
    for (std::size_t i = 0; i < recipe->keys.size(); ++i) {
        if (!states(row, column_of(recipe->keys[i].text))) {
            open.set(recipe->keys[i], recipe->items[i]);
        }
    }
    read_given(open, plan, errors);
    return errors.empty() ? Result<void>{} : Result<void>{unexpected<Error>(errors.front())};
}

}  // namespace orrery
