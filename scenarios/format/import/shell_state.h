// SPDX-License-Identifier: Apache-2.0
// Variables, functions and faults of a bash script that is being followed, and what it has cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/import/shell_text.h"

namespace orrery {

// What a script knows as it runs; shared by the texts that it nests (eval, bash -c).
struct ShellState {
    std::map<std::string, std::vector<PlacedText>, std::less<>> variables;  // one element: a scalar
    std::map<std::string, PlacedText, std::less<>> functions;               // their bodies
    std::vector<std::string> order;                                         // of first assignments
    std::vector<std::string> notes;    // "run.sh:3:7: …": what was passed over
    Errors errors;                     // of syntax: reading stops
    bool exited = false;               // `exit`: nothing runs any more
    bool active = true;                // false: in a branch that is not taken
    std::size_t characters = 0;        // expanded so far
    int depth = 0;                     // of nested texts, groups and defaults
    std::string source;                // the file's name
    std::vector<std::uint32_t> lines;  // offset at which each begins

    std::string where(std::uint32_t offset) const;
    void note(std::uint32_t offset, std::string_view what);
    void fail(std::uint32_t offset, std::string what, std::string hint = {});
    // Counts characters that are read or made; fails where a script would go on without end.
    void spend(std::size_t count, std::uint32_t offset);
    void assign(const std::string& name, std::vector<PlacedText> elements, bool append);
};

inline constexpr std::size_t kShellCharactersMost = std::size_t{4} << 20;
inline constexpr int kShellDepthMost = 40;

}  // namespace orrery
