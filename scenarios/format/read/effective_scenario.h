// SPDX-License-Identifier: Apache-2.0
// The effective scenario: what was simulated, as one document that needs no other file but the
// catalogue's fault rates and kernel times. Overrides are applied; entries of the catalogue, a
// config.json, an NCCL topology, cables and fault traces stand in the place of their names.
// Results and recordings hold it as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/document/document_node.h"

namespace orrery {

// Where a scenario comes from, for the provenance of what is made of it.
struct ScenarioOrigin {
    std::string file;                    // its name without folders
    std::vector<std::string> overrides;  // "plan.global_batch_size=768", in order
    DocumentNode effective;
    std::filesystem::path catalogue;
};

// `document` is a scenario after its sections were read, `folder` where its relative paths start.
// A file that can't be read stays a name.
DocumentNode effective_scenario(DocumentNode document,
                                const std::string& name,
                                const std::filesystem::path& folder);

// Whether JSON takes a plain scalar as a value without quotes and gives the same text back: a
// boolean, an integer, or a decimal in its shortest form. Other scalars become strings.
bool is_json_value(std::string_view plain);

// An effective scenario that was read from JSON, with the scalars that the original had: of JSON's
// strings only those are quoted that would be something else without quotes.
DocumentNode from_json_form(DocumentNode json);

// Several lines in the place of a file's name are the table itself.
inline bool is_table_text(std::string_view name) {
    return name.find('\n') != std::string_view::npos;
}

}  // namespace orrery
