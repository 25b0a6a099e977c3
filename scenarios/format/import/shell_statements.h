// SPDX-License-Identifier: Apache-2.0
// Follows the statements of a bash script: assignments, conditions, functions, eval. Commands are
// expanded and never executed.
#pragma once

#include <cstddef>
#include <vector>

#include "scenarios/format/import/shell_words.h"

namespace orrery {

// The command with the most flags ("--…") so far, the last of equals.
struct FlagsCommand {
    std::vector<ShellWord> words;
    std::ptrdiff_t flags = 0;
};

void follow_script(const PlacedText& text, ShellState& state, FlagsCommand& best);

}  // namespace orrery
