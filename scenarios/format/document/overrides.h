// SPDX-License-Identifier: Apache-2.0
// Command-line overrides: "plan.global_batch_size=768" sets one key of the document before it is
// read. The value is written as in YAML. If the override sets a key below a catalogue name, the
// name becomes the `base` of a map.
#pragma once

#include <string>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

// The place of errors is "--set plan.global_batch_size".
void apply_override(DocumentNode& root, const std::string& assignment, Errors& errors);

// Removes the key of a map, if it exists.
void erase_key(DocumentNode& map, std::string_view key);

}  // namespace orrery
