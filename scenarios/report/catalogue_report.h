// SPDX-License-Identifier: Apache-2.0
// The catalogue as tables, one entry with the source of every figure, or all of it as JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/catalogue/catalogue_entry.h"

namespace orrery {

// One line an entry, with the figures that tell entries of a section apart.
std::string catalogue_table(const std::vector<CatalogueEntry>& section);
std::string catalogue_page(const CatalogueEntry& entry);
std::string catalogue_json(const std::vector<CatalogueEntry>& entries);

}  // namespace orrery
