// SPDX-License-Identifier: Apache-2.0
// What the completion of every shell offers: options, keys of --set, names of the catalogue.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

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
