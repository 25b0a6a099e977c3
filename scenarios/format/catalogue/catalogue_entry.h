// SPDX-License-Identifier: Apache-2.0
// An entry of the catalogue for people: its figures, and the comments of its file as their sources.
// Comments above the first key are about the whole entry. Comments directly above a later key, or
// behind a value, are about that key.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct CatalogueFigure {
    std::string key;
    std::string value;  // text in the file; all lines of a nested map or list
    std::string source;
    bool operator==(const CatalogueFigure&) const = default;
};

struct CatalogueEntry {
    std::string section;
    std::string name;
    std::string about;
    std::vector<CatalogueFigure> figures;

    // Empty if the entry lacks the key.
    std::string value_of(std::string_view key) const;
};

inline constexpr std::string_view kCatalogueSections[] = {
    "devices", "nodes", "fabrics", "models", "stacks", "engines", "faults", "congestion_controls"};

CatalogueEntry parse_catalogue_entry(std::string_view section,
                                     std::string_view name,
                                     const std::string& text);

// All entries of a section, by name. An entry with a `base` includes the base's figures.
Result<std::vector<CatalogueEntry>> read_catalogue_section(const std::filesystem::path& root,
                                                           std::string_view section);

}  // namespace orrery
