// SPDX-License-Identifier: Apache-2.0
// `orrery validate CASES.csv`: simulates each published case and compares its step time with the
// measured one.
#pragma once

#include <string>

namespace orrery {

struct ValidateArguments {
    std::string file;
    bool json = false;
};

// Returns the exit status.
int validate_command(const ValidateArguments& arguments);

}  // namespace orrery
