// SPDX-License-Identifier: Apache-2.0
// Keys of a scenario (format/read/scenario_keys.h) as text, a report or JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/read/file_kind.h"
#include "scenarios/format/read/scenario_keys.h"
#include "scenarios/report/render/report.h"

namespace orrery {

// For each key a line with its default and its values, and its meaning below.
std::string keys_report(const std::vector<ScenarioKey>& keys);
// The complete description of one key.
std::string key_page(const ScenarioKey& key);
// The same as a table.
Report keys_sections(const std::vector<ScenarioKey>& keys);
std::string keys_json(const std::vector<ScenarioKey>& keys);

// The JSON Schema (draft 2020-12) of a kind of file, for editors, made from the tables of its keys.
// Keys that take a catalogue entry list the entries' names. Only the reader checks rules between
// keys. A file that the schema refuses is therefore wrong, but an accepted file need not be right.
std::string keys_schema(const FileKind& kind, const Catalogue& catalogue);

}  // namespace orrery
