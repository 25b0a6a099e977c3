// SPDX-License-Identifier: Apache-2.0
// An entry of the catalogue as people read it: its figures, and the comments of its file as their
// sources. Comments above the first key are about the entry as a whole, those directly above a
// later key, or behind a value, about that key.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct CatalogueFigure {
    std::string key;
    std::string value;  // as in the file; of a nested map or list, all of its lines
    std::string source;
    bool operator==(const CatalogueFigure&) const = default;
};

struct CatalogueEntry {
    std::string section;
    std::string name;
    std::string about;
    std::vector<CatalogueFigure> figures;

    // Empty if the entry does not say.
    std::string value_of(std::string_view key) const;
};

inline constexpr std::string_view kCatalogueSections[] = {
    "devices", "nodes", "fabrics", "models", "stacks", "engines", "faults", "congestion_controls"};

CatalogueEntry parse_catalogue_entry(std::string_view section,
                                     std::string_view name,
                                     const std::string& text);

// All of a section, by name. An entry with a `base` also has the figures of that one.
Result<std::vector<CatalogueEntry>> read_catalogue_section(const std::filesystem::path& root,
                                                           std::string_view section);

}  // namespace orrery
