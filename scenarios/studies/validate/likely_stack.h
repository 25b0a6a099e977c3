// SPDX-License-Identifier: Apache-2.0
// The entry of the catalogue's stacks whose defaults are the nearest guess for software that the
// catalogue does not know.
#pragma once

#include <string>

#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

// By what the name says of the framework, else by what the row's plan needs of one: pipelines and
// tensor-parallel ranks are Megatron-LM's, ranks that share weights alone PyTorch's FSDP.
std::string likely_stack(const PublishedCase& row);

}  // namespace orrery
