// SPDX-License-Identifier: Apache-2.0
// A tree of a YAML or JSON document in which every node has its place. Overrides of the command
// line and entries of the catalogue are merged into the tree before it is read, so that each value
// keeps the place of its origin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

struct DocumentNode {
    enum class Kind : std::uint8_t { null, scalar, sequence, map };

    Kind kind = Kind::null;
    // For a map made by an override: its keys change those of the map below it.
    bool extends = false;
    bool is_string = false;  // a quoted scalar: never a number, a boolean or a quantity
    std::uint32_t line = 0;  // 1-based; 0: the place is `source` alone
    std::uint32_t column = 0;
    std::shared_ptr<const std::string> source;  // "scenario.yaml" or "--set plan.precision"
    std::string text;                           // of a scalar
    std::string remark;                         // comment that to_yaml writes after the value
    std::vector<DocumentNode> keys;             // of a map: keys[i] belongs to items[i]
    std::vector<DocumentNode> items;            // of a sequence or a map

    bool is_map() const { return kind == Kind::map; }
    bool is_scalar() const { return kind == Kind::scalar; }
    bool is_sequence() const { return kind == Kind::sequence; }

    // "scenario.yaml:12:5"
    std::string where() const;
    // The folder to which paths in this node are relative: that of its file. For an override it is
    // the scenario's folder.
    std::filesystem::path folder(const std::filesystem::path& of_scenario) const;
    // The value of a key of a map, or null.
    const DocumentNode* find(std::string_view key) const;
    DocumentNode* find(std::string_view key);
    // Adds the key, or replaces its value.
    void set(DocumentNode key, DocumentNode value);
    // Description in error messages: "a map", "a list", "nothing", or the text in quotes.
    std::string describe() const;
};

// A number or a word in a document that the program makes; to_yaml (yaml_document.h) writes it.
// Errors about it name `where` ("run.sh:12:7").
DocumentNode scalar_node(std::string text, std::string remark = {}, const std::string& where = {});
DocumentNode list_node(const std::vector<std::string>& scalars);
// Sets the value at a dotted path ("plan.micro_batch_size"). Missing maps on the path are made at
// the place of the value. No value on the path may be a scalar or a list.
void put(DocumentNode& root, std::string_view path, DocumentNode value);

inline constexpr std::size_t kNoKey = static_cast<std::size_t>(-1);
// Position of a key in a map, or kNoKey.
std::size_t key_position(const DocumentNode& map, std::string_view key);

// Place of the value at a path ("plan.tensor_model_parallel_size", "cluster.kinds[1].node"), or of
// the nearest parent in the document.
std::string where_of_path(const DocumentNode& root, std::string_view path);
bool has_path(const DocumentNode& root, std::string_view path);

}  // namespace orrery
