// SPDX-License-Identifier: Apache-2.0
// Reads JSON into the same tree with places as YAML (scenarios/format/document/document_node.h),
// under the same guards: size, depth, clean text, no duplicate keys.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

// `first_line` is the line of the text in its source.
ResultOrErrors<DocumentNode> parse_json(const std::string& text,
                                        const std::string& source,
                                        std::uint32_t first_line = 1);
ResultOrErrors<DocumentNode> read_json_file(const std::filesystem::path& path);

}  // namespace orrery
