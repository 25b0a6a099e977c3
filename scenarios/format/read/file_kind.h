// SPDX-License-Identifier: Apache-2.0
// The kinds of YAML files. A file has its kind under the key `kind`; without this key the kind
// follows from its other keys. A fabric's file is recognised by the words of its topology.
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

// An error if the file is of none of the wanted kinds: it names the kinds and the command for the
// file. Empty otherwise. A file whose keys do not decide has the first wanted kind.
Error of_another_kind(const DocumentNode& root, std::initializer_list<std::string_view> wanted);

}  // namespace orrery
