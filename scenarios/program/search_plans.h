// SPDX-License-Identifier: Apache-2.0
// `orrery search` among the plans of a training.
#pragma once

#include "scenarios/program/search.h"

namespace orrery {

// Returns the exit status.
int search_plans_command(const SearchArguments& arguments);

}  // namespace orrery
