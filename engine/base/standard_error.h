// SPDX-License-Identifier: Apache-2.0
// Messages on standard error. A message that can't be written (a full disk, a closed descriptor) is
// lost, and the program goes on: its status tells how it ended.
#pragma once

#include <cstdio>
#include <string_view>

namespace orrery {

inline void print_to_stderr(std::string_view message) {
    std::fwrite(message.data(), 1, message.size(), stderr);
}

}  // namespace orrery
