// SPDX-License-Identifier: Apache-2.0
// Keys in the spelling of an earlier release. They work for one more release.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/document/document_node.h"

namespace orrery {

// Gives each old key of a section ("cluster") its new name and value. Returns a line for each with
// its place, its new name and the change of its value.
std::vector<std::string> rename_old_keys(DocumentNode& map, std::string_view section);

}  // namespace orrery
