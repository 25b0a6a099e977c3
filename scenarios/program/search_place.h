// SPDX-License-Identifier: Apache-2.0
// `orrery search --place`: in which order the ranks of the file's plan should take the nodes.
#pragma once

#include "scenarios/program/search.h"

namespace orrery {

int search_place_command(const SearchArguments& arguments);

}  // namespace orrery
