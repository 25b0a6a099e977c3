// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/plan/plan_fields.h"
#include "scenarios/format/read/read_stack.h"

namespace orrery {
namespace {

constexpr std::string_view kRecipes = "recipes";

// The table's column for a key of the plan. recompute_modules counts as part of
// recompute_granularity: a row states both or neither.
std::string_view column_of(std::string_view key) {
    using Plan = ParallelPlan;
    if (key == plan_field<&Plan::recompute_modules>.name) {
        return plan_field<&Plan::recompute_granularity>.name;
    }
    return key == plan_field<&Plan::moe_token_dispatcher_type>.name ? "token_dispatcher" : key;
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
    if (!wanted.empty()) {
        return wanted;
    }
    // Names are sorted, and release numbers have two digits: the last match is the newest release.
    const auto newest = std::find_if(known.rbegin(), known.rend(), [&](const std::string& name) {
        return !stack.empty() && name.starts_with(fmt::format("{}.", stack));
    });
    return newest == known.rend() ? std::string{} : *newest;
}

Result<void> set_recipe(const PublishedCase& row, const Catalogue& catalogue, ParallelPlan& plan) {
    const std::string entry = recipe_entry(row.stack, catalogue);
    if (entry.empty()) {
        return {};
    }
    Errors errors;
    const std::string section{kRecipes};
    const DocumentNode recipes = catalogue.resolve(scalar_node(entry), section, section, errors);
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
