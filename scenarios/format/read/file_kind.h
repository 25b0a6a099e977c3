// SPDX-License-Identifier: Apache-2.0
// The kinds of YAML files. A file says its kind under the key `kind`; of a file without it, the
// kind is that whose keys it has. A fabric's file is known by the words of its topology.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/read/key_table.h"

namespace orrery {

struct FileKind {
    std::string_view word;       // "sweep"
    std::string_view what;       // "a sweep"
    std::string_view use;        // "orrery sweep FILE"
    const KeyMap* keys;          // never null
    std::string_view catalogue;  // its section of the catalogue; empty: none
};

std::span<const FileKind> file_kinds();
// Null if there is none.
const FileKind* file_kind(std::string_view word);

// One error if the file is of none of the wanted kinds, which names both and the command that takes
// the file; empty otherwise. The first wanted kind is that of a file whose keys say nothing.
Error of_another_kind(const DocumentNode& root, std::initializer_list<std::string_view> wanted);

}  // namespace orrery
