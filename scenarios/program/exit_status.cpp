// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/exit_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "scenarios/report/render/terminal.h"

namespace orrery {

int report_errors(const Errors& errors) {
    constexpr std::size_t kMost = 200;
    for (std::size_t i = 0; i < std::min(errors.size(), kMost); ++i) {
        print_to_stderr(fmt::format("{}\n", coloured_error(errors[i].to_string())));
    }
    if (errors.size() > kMost) {
        print_to_stderr(fmt::format("and {} more errors\n", errors.size() - kMost));
    }
    return kExitUserError;
}

int report_error(const Error& error) {
    return report_errors({error});
}

int report_defect(const std::string& what) {
    report_error({"", what, "this is a defect of orrery, not of its input"});
    return kExitDefect;
}

int print_output(const std::string& text) {
    errno = 0;
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0) {
        if (errno == EPIPE) {
            return kExitOk;  // the reader has closed the pipe: `orrery … | head`
        }
        return report_error({"standard output",
                             "can't be written",
                             errno == EBADF ? "it is closed" : "is the disk full?"});
    }
    return kExitOk;
}

}  // namespace orrery
