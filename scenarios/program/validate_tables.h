// SPDX-License-Identifier: Apache-2.0
// `orrery validate` of the tables that hold no training steps: collectives, exchanges, layers,
// memory, served loads and kernels of serving.
#pragma once

#include <functional>
#include <string>

#include "engine/result.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/validate.h"

namespace orrery {

// Whether the file's first line is that of such a table.
bool is_table_of_operations(const std::string& file);

// The answer without its provenance.
ResultOrErrors<StudyOutput> validate_table(const ValidateArguments& arguments,
                                           const std::function<void(double)>& progress);

}  // namespace orrery
