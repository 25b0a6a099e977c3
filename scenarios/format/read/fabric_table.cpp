// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/fabric_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/effective_scenario.h"

namespace orrery {
namespace {

// "latency=" is the column latency, which may be missing.
std::vector<std::string> needed_columns(const std::vector<std::string>& columns) {
    std::vector<std::string> needed;
    for (const std::string& column : columns) {
        if (column.find('=') == std::string::npos) {
            needed.push_back(column);
        }
    }
    return needed;
}

}  // namespace

std::optional<FabricTable> open_fabric_table(const DocumentNode& file,
                                             const std::filesystem::path& folder,
                                             const std::string& key,
                                             const std::vector<std::string>& columns,
                                             Errors& errors) {
    if (!file.is_scalar() || file.text.empty()) {
        errors.push_back(
            {file.where(),
             key + " must be a file's name",
             fmt::format("a table with the columns {}", fmt::join(needed_columns(columns), ", "))});
        return std::nullopt;
    }
    const bool inlined = is_table_text(file.text);
    FabricTable opened{.name = inlined ? key : (file.folder(folder) / file.text).string(),
                       .rows = {}};
    const auto text = inlined ? Result<std::string>{file.text} : read_text_file(opened.name);
    if (!text) {
        errors.push_back(
            {file.where(), text.error().where + ": " + text.error().what, text.error().hint});
        return std::nullopt;
    }
    std::istringstream table(*text);
    auto rows = read_csv(table, opened.name, columns);
    if (!rows) {
        errors.insert(errors.end(), rows.error().begin(), rows.error().end());
        return std::nullopt;
    }
    opened.rows = std::move(*rows);
    return opened;
}

}  // namespace orrery
