// SPDX-License-Identifier: Apache-2.0
// A validation as text for people, at most 100 columns wide.
#pragma once

#include <string>

#include "scenarios/studies/validate/validation.h"

namespace orrery {

std::string validation_report(const Validation& validation);

}  // namespace orrery
