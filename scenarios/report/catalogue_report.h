// SPDX-License-Identifier: Apache-2.0
// Reports on the catalogue: tables, one entry with the source of every figure, or everything as
// JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/catalogue/catalogue_entry.h"
#include "scenarios/report/render/report.h"

namespace orrery {

// A table for each section, with a line for each entry. The columns distinguish the entries.
Report catalogue_sections(const std::vector<CatalogueEntry>& entries);
// Every figure with its source. `entries` have one name, and there is at least one.
Report entry_sections(const std::vector<CatalogueEntry>& entries);
// The same for a terminal, with the sources below their figures.
std::string catalogue_page(const CatalogueEntry& entry);
std::string catalogue_json(const std::vector<CatalogueEntry>& entries);

}  // namespace orrery
