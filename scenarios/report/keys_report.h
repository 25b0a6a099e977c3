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

// Of each key a line with its default and its values, and its meaning below.
std::string keys_report(const std::vector<ScenarioKey>& keys);
// All that is known of one key.
std::string key_page(const ScenarioKey& key);
// A table of the same.
Report keys_sections(const std::vector<ScenarioKey>& keys);
std::string keys_json(const std::vector<ScenarioKey>& keys);

// JSON Schema (draft 2020-12) of a kind of file, for editors; made from the tables of its keys.
// Names of the catalogue's entries complete the keys that take one. What one key asks of another is
// the reader's business: a file that the schema refuses is wrong, not the other way round.
std::string keys_schema(const FileKind& kind, const Catalogue& catalogue);

}  // namespace orrery
