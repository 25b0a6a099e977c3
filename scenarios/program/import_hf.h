// SPDX-License-Identifier: Apache-2.0
// `orrery import hf`: a model configuration of Hugging Face, as a scenario.
#pragma once

#include "scenarios/program/import.h"

namespace orrery {

// Returns the exit status.
int import_hf_command(const ImportArguments& arguments);

}  // namespace orrery
