// SPDX-License-Identifier: Apache-2.0
// JSON Schema (draft 2020-12) of a kind of file, for editors; made from the tables of its keys.
#pragma once

#include <string>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/read/file_kind.h"

namespace orrery {

// Names of the catalogue's entries complete the keys that take one. What one key asks of another is
// the reader's business: a file that the schema refuses is wrong, not the other way round.
std::string keys_schema(const FileKind& kind, const Catalogue& catalogue);

}  // namespace orrery
