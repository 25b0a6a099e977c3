// SPDX-License-Identifier: Apache-2.0
// Plan values of the recipe that a published row ran (the catalogue's recipes, with their sources),
// where the row's own source states none.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

// The catalogue's entry for a release: mb26.02 for "mb26.02.03". A stack with only a year ("mb26")
// gets the year's newest release. Empty if there is none.
std::string recipe_entry(std::string_view stack, const Catalogue& catalogue);

// Sets the recipe's keys for this release, model, GPU and precision, except those whose column the
// row states.
Result<void> set_recipe(const PublishedCase& row, const Catalogue& catalogue, ParallelPlan& plan);

// Whether the row's source states the column: the table has it, and the row does not assume it.
bool states(const PublishedCase& row, std::string_view column);

}  // namespace orrery
