// SPDX-License-Identifier: Apache-2.0
// Functions that the formats of `orrery import` share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/import.h"

namespace orrery {

// Writes the product to the place that the arguments name. Returns the exit status.
int write_imported(const ImportArguments& arguments, const std::string& text);

// Prints lines on standard error, unless --quiet is set. note_each() puts `what` before each line.
void note_lines(const std::vector<std::string>& lines);
void note_each(const char* what, const std::vector<std::string>& list);

// The text of the only file that the words name.
Result<std::string> imported_file(const ImportArguments& arguments);

// A whole number from a node of the catalogue.
std::uint32_t number_of_node(const std::string& node, const char* key, std::uint32_t otherwise);
std::uint32_t gpus_of_node(const std::string& node);

// A line about the effect of the unknown software, which a model's configuration does not name.
std::string unknown_software(const Scenario& scenario);

std::string fabric_of_import(const ImportArguments& arguments);

}  // namespace orrery
