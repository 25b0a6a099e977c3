// SPDX-License-Identifier: Apache-2.0
// The failures of a supervised training's members, and their translation for the recovery machine.
#pragma once

#include <string>
#include <vector>

#include "engine/recovery/messages.h"

namespace orrery {

struct Failures {
    std::vector<NodeNumber> lost;         // ended, or without a sign of life
    std::vector<NodeNumber> unreachable;  // alive, but most of the others could not reach them
    std::vector<std::string> errors;      // errors of their own
    bool wrong_numbers = false;           // the errors are losses or gradients that are not finite
};

// Sets kind, detector, fault and nodes of the observation.
void tell_what(const Failures& failures, Observation& observation);

}  // namespace orrery
