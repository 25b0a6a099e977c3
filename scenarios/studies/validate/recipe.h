// SPDX-License-Identifier: Apache-2.0
// What the recipe that a published row ran says of its plan (the catalogue's recipes, with their
// sources), where the row's own source leaves it open.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

// The catalogue's entry for a release: "mb26.02.03" is mb26.02. A stack that names a year alone
// ("mb26") has the year's newest release. Empty if there is none.
std::string recipe_entry(std::string_view stack, const Catalogue& catalogue);

// Sets the keys that the recipe of this release, model, GPU and precision has, except those whose
// column the row states.
Result<void> set_recipe(const PublishedCase& row, const Catalogue& catalogue, ParallelPlan& plan);

// Whether the row's source states the column: the table has it, and the row does not assume it.
bool states(const PublishedCase& row, std::string_view column);

}  // namespace orrery
