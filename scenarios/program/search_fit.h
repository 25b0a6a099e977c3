// SPDX-License-Identifier: Apache-2.0
// `orrery search --fit`: how long a sequence, or how many layers, the plan of a file holds.
#pragma once

#include "scenarios/program/search.h"

namespace orrery {

int search_fit_command(const SearchArguments& arguments);

}  // namespace orrery
