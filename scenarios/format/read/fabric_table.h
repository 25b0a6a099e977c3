// SPDX-License-Identifier: Apache-2.0
// A table that a key of cluster.fabric names: a file relative to the file that names it, or its
// text (effective_scenario.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/csv_rows.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

struct FabricTable {
    std::string name;  // for messages
    std::vector<CsvRow> rows;
};

// `key`: the key's dotted name. No value after errors.
std::optional<FabricTable> open_fabric_table(const DocumentNode& file,
                                             const std::filesystem::path& folder,
                                             const std::string& key,
                                             const std::vector<std::string>& columns,
                                             Errors& errors);

}  // namespace orrery
