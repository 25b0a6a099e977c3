// SPDX-License-Identifier: Apache-2.0
// The catalogue's stack whose defaults are the nearest guess for software that the catalogue does
// not know.
#pragma once

#include <string>

#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

// Guesses from the framework in the software's name, else from the row's plan: pipelines and tensor
// parallelism mean Megatron-LM, sharded weights alone mean PyTorch's FSDP.
std::string likely_stack(const PublishedCase& row);

}  // namespace orrery
