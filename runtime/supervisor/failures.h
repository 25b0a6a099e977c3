// SPDX-License-Identifier: Apache-2.0
// What is wrong with those who take part in a supervised training, and what the recovery machine is
// told of it.
#pragma once

#include <string>
#include <vector>

#include "engine/recovery/messages.h"

namespace orrery {

struct Failures {
    std::vector<NodeNumber> lost;         // ended, or gave no sign of life
    std::vector<NodeNumber> unreachable;  // live, and most of the others could not reach them
    std::vector<std::string> errors;      // of their own
    bool wrong_numbers = false;           // they are losses or gradients that are no numbers
};

// Kind, detector, fault and nodes.
void tell_what(const Failures& failures, Observation& observation);

}  // namespace orrery
