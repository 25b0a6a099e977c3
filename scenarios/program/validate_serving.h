// SPDX-License-Identifier: Apache-2.0
// `orrery validate` of a table of served loads.
#pragma once

#include "scenarios/format/provenance/provenance.h"
#include "scenarios/program/validate.h"

namespace orrery {

// Returns the exit status.
int validate_serving_table(const ValidateArguments& arguments, const Provenance& provenance);

}  // namespace orrery
