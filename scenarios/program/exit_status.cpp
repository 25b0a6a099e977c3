// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/exit_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace orrery {

int report_errors(const Errors& errors) {
    constexpr std::size_t kMost = 200;
    for (std::size_t i = 0; i < std::min(errors.size(), kMost); ++i) {
        fmt::print(stderr, "{}\n", errors[i].to_string());
    }
    if (errors.size() > kMost) {
        fmt::print(stderr, "and {} more errors\n", errors.size() - kMost);
    }
    return kExitUserError;
}

int report_error(const Error& error) {
    return report_errors({error});
}

int print_output(const std::string& text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0) {
        return report_error({"standard output", "can't be written", "is the disk full?"});
    }
    return kExitOk;
}

}  // namespace orrery
