// SPDX-License-Identifier: Apache-2.0
// Reads a YAML file into a tree with places. The subset is what a scenario needs: one document of
// maps with plain keys, lists and scalars. Anchors, aliases and tags are refused (an alias can blow
// a small file up to any size), and so are duplicate keys, control characters, text that is not
// UTF-8, and files that are too large or too deep.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "engine/result.h"
#include "scenarios/read/document_node.h"

namespace orrery {

inline constexpr std::size_t kDocumentBytesMax = std::size_t{1} << 20;
inline constexpr int kDocumentDepthMax = 32;

// The whole file, at most kDocumentBytesMax. An unreadable one, a directory or a larger file is an
// error whose place is `path`.
Result<std::string> read_text_file(const std::filesystem::path& path);

// The first place where the text is not clean UTF-8 (NUL, control characters, broken sequences).
// Returns an empty Error::what if it is clean.
Error check_text(std::string_view text, const std::string& source);

// `source` is the name that errors give.
ResultOrErrors<DocumentNode> parse_yaml(const std::string& text, const std::string& source);
ResultOrErrors<DocumentNode> read_yaml_file(const std::filesystem::path& path);

}  // namespace orrery
