// SPDX-License-Identifier: Apache-2.0
// The command that a bash script launches, with expanded variables and arrays: input of `orrery
// import megatron run.sh`. Assignments, quotes, comments, conditions on variables, eval and bash -c
// are followed as in bash; nothing is executed. Loops, cases, other files and conditions on files
// are skipped and reported.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct CommandWord {
    std::string text;
    std::string where;  // place of its first character: "run.sh:12:7", or "word 5"
};

struct LaunchCommand {
    std::vector<CommandWord> words;        // of the command with the most flags ("--…")
    std::vector<std::string> passed_over;  // "run.sh:3:1: 'for': passed over"
};

// `source` is the name in places. Errors: an unclosed quote or bracket, text that is not UTF-8.
ResultOrErrors<LaunchCommand> launch_command(const std::string& text, const std::string& source);

}  // namespace orrery
