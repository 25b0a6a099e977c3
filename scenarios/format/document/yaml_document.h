// SPDX-License-Identifier: Apache-2.0
// Reads a YAML file into a tree with places, and writes such a tree. The subset is what a scenario
// needs: one document of maps with plain keys, lists and scalars. Anchors, aliases and tags are
// refused (an alias can blow a small file up to any size), and so are duplicate keys, control
// characters, text that is not UTF-8, and files that are too large or too deep.
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

// The name of a file that stands for standard input, and its name in errors.
inline constexpr const char* kStandardInput = "-";
inline constexpr const char* kStandardInputName = "standard input";
std::string source_name(const std::filesystem::path& path);

// The whole file, at most kDocumentBytesMax. An unreadable one, a directory or a larger file is an
// error whose place is `path`.
Result<std::string> read_text_file(const std::filesystem::path& path);

// The first place where the text is not clean UTF-8 (NUL, control characters, broken sequences).
// Returns an empty Error::what if it is clean.
Error check_text(std::string_view text, const std::string& source);

// `source` is the name that errors give.
ResultOrErrors<DocumentNode> parse_yaml(const std::string& text, const std::string& source);
ResultOrErrors<DocumentNode> read_yaml_file(const std::filesystem::path& path);

// The document as parse_yaml reads it back: block style, two spaces a level, lists without maps on
// one line, quotes where the text would read as something else. `heading`: comments at the top.
std::string to_yaml(const DocumentNode& node, const std::vector<std::string>& heading = {});
// The same on one line, as --set reads it.
std::string to_flow_yaml(const DocumentNode& node);

}  // namespace orrery
