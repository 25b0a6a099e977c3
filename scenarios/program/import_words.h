// SPDX-License-Identifier: Apache-2.0
// What the verbs of `orrery import` share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/import.h"

namespace orrery {

// Writes the product where the arguments say. Returns the exit status.
int write_imported(const ImportArguments& arguments, const std::string& text);

// On standard error, if it is not --quiet. note_each() puts what it is before each line.
void note_lines(const std::vector<std::string>& lines);
void note_each(const char* what, const std::vector<std::string>& list);

// The text of the one file that the words name.
Result<std::string> imported_file(const ImportArguments& arguments);

// A whole number of a node of the catalogue.
std::uint32_t number_of_node(const std::string& node, const char* key, std::uint32_t otherwise);
std::uint32_t gpus_of_node(const std::string& node);

// A model's configuration does not say what trains it: a line about what that costs.
std::string unknown_software(const Scenario& scenario);

std::string fabric_of_import(const ImportArguments& arguments);

}  // namespace orrery
