// SPDX-License-Identifier: Apache-2.0
// Keys that an earlier release spelt in another way. They go on working for one release.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/document/document_node.h"

namespace orrery {

// Gives each old key of a section ("cluster") its new name and value. A line for each: its place,
// what it is called now, and how the value has changed.
std::vector<std::string> rename_old_keys(DocumentNode& map, std::string_view section);

}  // namespace orrery
