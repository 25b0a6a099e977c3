// SPDX-License-Identifier: Apache-2.0
// Reads a YAML file into a tree with places, and writes such a tree. The accepted subset is one
// document of maps with plain keys, lists and scalars. Anchors, aliases and tags are errors (an
// alias can blow a small file up to any size), as are duplicate keys, control characters, text that
// is not UTF-8, and files that are too large or too deep.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

inline constexpr std::size_t kDocumentBytesMax = std::size_t{1} << 20;
inline constexpr int kDocumentDepthMax = 32;

// The name of a file that means standard input, and its name in errors.
inline constexpr const char* kStandardInput = "-";
inline constexpr const char* kStandardInputName = "standard input";
std::string source_name(const std::filesystem::path& path);

// The whole file, of at most kDocumentBytesMax. For an unreadable or larger file or a directory an
// error at the place `path`.
Result<std::string> read_text_file(const std::filesystem::path& path);

// The first place where the text is not clean UTF-8 (NUL, control characters, broken sequences).
// Error::what is empty if it is clean.
Error check_text(std::string_view text, const std::string& source);

// `source` is the name in errors.
ResultOrErrors<DocumentNode> parse_yaml(const std::string& text, const std::string& source);
ResultOrErrors<DocumentNode> read_yaml_file(const std::filesystem::path& path);

// A text that parse_yaml reads as the same document: block style, two spaces per level, lists
// without maps on one line, quotes where needed. `heading` has comments for the top.
std::string to_yaml(const DocumentNode& node, const std::vector<std::string>& heading = {});
// The same on one line, in the form of --set.
std::string to_flow_yaml(const DocumentNode& node);

}  // namespace orrery
