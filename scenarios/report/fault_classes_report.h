// SPDX-License-Identifier: Apache-2.0
// What can fail, how many there are of it and how often: a table for console, page and JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/campaign/fault_classes.h"
#include "scenarios/report/text_table.h"

namespace orrery {

// With its head: class, components, when, expected in `of` ("30.0 d").
std::vector<TextRow> fault_class_rows(const std::vector<FaultClass>& classes,
                                      const std::string& of);
// A section with a heading; empty if there are no faults.
std::string fault_classes_text(const std::vector<FaultClass>& classes, const std::string& of);
// A list.
std::string fault_classes_json(const std::vector<FaultClass>& classes);

}  // namespace orrery
