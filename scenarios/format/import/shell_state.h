// SPDX-License-Identifier: Apache-2.0
// State of a bash script that is being followed: variables, functions, errors and cost.
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

// State shared by nested texts (eval, bash -c).
struct ShellState {
    std::map<std::string, std::vector<PlacedText>, std::less<>> variables;  // one element: a scalar
    std::map<std::string, PlacedText, std::less<>> functions;               // their bodies
    std::vector<std::string> order;                                         // of first assignments
    std::vector<std::string> notes;    // "run.sh:3:7: …": skipped statements
    Errors errors;                     // of syntax: reading stops
    bool exited = false;               // after `exit` nothing runs
    bool active = true;                // false: in a branch that is not taken
    std::size_t characters = 0;        // expanded so far
    int depth = 0;                     // of nested texts, groups and defaults
    std::string source;                // name of the file
    std::vector<std::uint32_t> lines;  // offset of the beginning of each line

    std::string where(std::uint32_t offset) const;
    void note(std::uint32_t offset, std::string_view what);
    void fail(std::uint32_t offset, std::string what, std::string hint = {});
    // Counts characters that are read or made. An error ends scripts that would run forever.
    void spend(std::size_t count, std::uint32_t offset);
    void assign(const std::string& name, std::vector<PlacedText> elements, bool append);
};

inline constexpr std::size_t kShellCharactersMost = std::size_t{4} << 20;
inline constexpr int kShellDepthMost = 40;

}  // namespace orrery
