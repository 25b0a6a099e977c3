// SPDX-License-Identifier: Apache-2.0
// Runs a shell command, such as the built `orrery`, and returns all that it did. Each has no
// standard input, and a time limit, after which its status is 124 (timeout(1)); $ORRERY is the
// program.
#pragma once

#include <filesystem>
#include <string>

#include "tests/test_folder.h"

namespace orrery {

struct Ran {
    int status = -1;  // 128 + n if signal n ended it
    std::string out;  // standard output
    std::string err;  // standard error
};

Ran run_shell(const std::string& command, const std::filesystem::path& folder, int limit_s = 120);

// The built program with these arguments (shell words), run in the root of the checkout.
Ran run_orrery(const std::string& arguments);

}  // namespace orrery
