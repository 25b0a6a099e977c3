// SPDX-License-Identifier: Apache-2.0
// The command that a bash script launches, with its variables and arrays expanded: what
// `orrery import megatron run.sh` reads. Assignments, quotes, comments, conditions on variables,
// eval and bash -c are followed as bash does; nothing is executed. Loops, cases, other files and
// conditions on files are passed over and named.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct CommandWord {
    std::string text;
    std::string where;  // "run.sh:12:7", of its first character, or "word 5"
};

struct LaunchCommand {
    std::vector<CommandWord> words;        // of the command with the most flags ("--…")
    std::vector<std::string> passed_over;  // "run.sh:3:1: 'for': passed over"
};

// `source` is the name that places give. Errors: a quote or a bracket that is never closed, text
// that is not UTF-8.
ResultOrErrors<LaunchCommand> launch_command(const std::string& text, const std::string& source);

}  // namespace orrery
