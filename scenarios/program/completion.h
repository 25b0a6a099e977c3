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

// What the completion of every shell offers: options, keys of --set, names of the catalogue.
struct CompletedFlag {
    std::string name;  // "--json"
    std::string help;
    bool has_value = false;
};

// Of a command, without old spellings; "-o,--output" is two, "!--no-fold" is one that clears.
std::vector<CompletedFlag> completed_flags(const Command& command);
// Inside single quotes, of every shell here.
std::string shell_quoted(const std::string& text);
// Keys that --set takes; of a list's items the program knows no numbers.
std::string keys_to_set();
// All entries of the catalogue, behind its sections.
std::string catalogue_names();

}  // namespace orrery
