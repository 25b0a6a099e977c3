// SPDX-License-Identifier: Apache-2.0
// The effective scenario: the simulated one, as a document that needs no other files except the
// catalogue's fault rates and kernel times. Overrides are applied. Entries of the catalogue, a
// config.json, an NCCL topology, cables and fault traces replace their names. Results and
// recordings hold it as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/document/document_node.h"

namespace orrery {

// The origin of a scenario, for the provenance of results.
struct ScenarioOrigin {
    std::string file;                    // its name without folders
    std::vector<std::string> overrides;  // "plan.global_batch_size=768", in order
    DocumentNode effective;
    std::filesystem::path catalogue;
};

// `document` is a scenario after its sections were read, `folder` the base of its relative paths.
// The name of an unreadable file stays.
DocumentNode effective_scenario(DocumentNode document,
                                const std::string& name,
                                const std::filesystem::path& folder);

// Whether JSON represents a plain scalar without quotes and gives back the same text: a boolean, an
// integer, or a decimal in its shortest form. Other scalars become strings.
bool is_json_value(std::string_view plain);

// An effective scenario from JSON, with its original scalars: only strings that would mean
// something else without quotes are quoted.
DocumentNode from_json_form(DocumentNode json);

// Whether the text is a table itself instead of a file's name: it has several lines.
inline bool is_table_text(std::string_view name) {
    return name.find('\n') != std::string_view::npos;
}

}  // namespace orrery
