// SPDX-License-Identifier: Apache-2.0
// A tree of what a YAML or JSON file says, in which every node knows where it stands. Overrides
// from the command line and entries of the catalogue are merged into the tree before it is read, so
// that each value keeps the place that it came from.
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
    // A map made by an override: its keys change those of what it stands on.
    bool extends = false;
    bool is_string = false;  // a quoted scalar: never a number, a boolean or a quantity
    std::uint32_t line = 0;  // 1-based; 0: `source` alone is the place
    std::uint32_t column = 0;
    std::shared_ptr<const std::string> source;  // "scenario.yaml" or "--set plan.precision"
    std::string text;                           // of a scalar
    std::string remark;                         // comment that to_yaml writes behind the value
    std::vector<DocumentNode> keys;             // of a map: keys[i] belongs to items[i]
    std::vector<DocumentNode> items;            // of a sequence or a map

    bool is_map() const { return kind == Kind::map; }
    bool is_scalar() const { return kind == Kind::scalar; }
    bool is_sequence() const { return kind == Kind::sequence; }

    // "scenario.yaml:12:5"
    std::string where() const;
    // What a path in this node is relative to: the folder of its file, or of the scenario if the
    // node is an override, which means what it would mean in the scenario.
    std::filesystem::path folder(const std::filesystem::path& of_scenario) const;
    // The value of a key of a map, or null.
    const DocumentNode* find(std::string_view key) const;
    DocumentNode* find(std::string_view key);
    // Adds the key, or replaces its value.
    void set(DocumentNode key, DocumentNode value);
    // "a map", "a list", "nothing", or the text in quotes; what an error message calls it.
    std::string describe() const;
};

// Documents that the program itself makes; to_yaml (yaml_document.h) writes them.
// A number or a word; `where` is the place that errors about it name ("run.sh:12:7").
DocumentNode scalar_node(std::string text, std::string remark = {}, const std::string& where = {});
DocumentNode list_node(const std::vector<std::string>& scalars);
// Sets the value at a dotted path ("plan.micro_batch_size"); maps on the way are made where they
// are absent, at the place of the value. No value on the way may be a scalar or a list.
void put(DocumentNode& root, std::string_view path, DocumentNode value);

inline constexpr std::size_t kNoKey = static_cast<std::size_t>(-1);
// Position of a key in a map, or kNoKey.
std::size_t key_position(const DocumentNode& map, std::string_view key);

// Place of the value at a path ("plan.tensor_model_parallel_size", "cluster.kinds[1].node"), or of
// the nearest parent that the document has.
std::string where_of_path(const DocumentNode& root, std::string_view path);

}  // namespace orrery
