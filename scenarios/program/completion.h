// SPDX-License-Identifier: Apache-2.0
// `orrery completion SHELL`: a script for bash, zsh or fish that completes commands, options and
// file names, made from the commands' own descriptions.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/program/command.h"

namespace orrery {

std::string bash_script(const std::vector<Command>& commands);
std::string zsh_script(const std::vector<Command>& commands);
std::string fish_script(const std::vector<Command>& commands);

// "bash", "zsh" or "fish".
Result<std::string> completion_script(const std::string& shell,
                                      const std::vector<Command>& commands);

int completion_command(const std::string& shell);

// The content of the completion for every shell: options, keys of --set, names of the catalogue.
struct CompletedFlag {
    std::string name;  // "--json"
    std::string help;
    bool has_value = false;
};

// The flags of a command, without old spellings. "-o,--output" gives two; "!--no-fold" gives one
// that clears.
std::vector<CompletedFlag> completed_flags(const Command& command);
// The text in single quotes, valid for each of these shells.
std::string shell_quoted(const std::string& text);
// The keys that --set takes. Items of a list have no numbers, because the number of items is
// unknown.
std::string keys_to_set();
// All entries of the catalogue, after its sections.
std::string catalogue_names();

}  // namespace orrery
