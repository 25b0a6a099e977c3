// SPDX-License-Identifier: Apache-2.0
// The catalogue as tables, one entry with the source of every figure, or all of it as JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/catalogue/catalogue_entry.h"
#include "scenarios/report/render/report.h"

namespace orrery {

// A section of the catalogue is a table with a line an entry, with the figures that tell its
// entries apart.
Report catalogue_sections(const std::vector<CatalogueEntry>& entries);
// Every figure with its source. Entries of one name, at least one.
Report entry_sections(const std::vector<CatalogueEntry>& entries);
// The same entry for a terminal: sources below their figures.
std::string catalogue_page(const CatalogueEntry& entry);
std::string catalogue_json(const std::vector<CatalogueEntry>& entries);

}  // namespace orrery
