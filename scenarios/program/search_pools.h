// SPDX-License-Identifier: Apache-2.0
// `orrery search` of a file of kind serving: the best pools.
#pragma once

#include "scenarios/program/search.h"

namespace orrery {

int search_pools_command(const SearchArguments& arguments);

}  // namespace orrery
