// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "engine/base/standard_error.h"

namespace orrery {
namespace {

bool are_errors_coloured() {
    const std::string& colour = terminal().colour;
    if (colour != "auto") {
        return colour == "always";
    }
    const char* refused = std::getenv("NO_COLOR");  // https://no-color.org
    return (refused == nullptr || *refused == '\0') && isatty(STDERR_FILENO) != 0;
}

}  // namespace

Terminal& terminal() {
    static Terminal of_this_process;
    return of_this_process;
}

std::string coloured_error(const std::string& line) {
    constexpr std::string_view kWord = "error: ";
    const std::size_t at = line.find(kWord);
    if (at == std::string::npos || !are_errors_coloured()) {
        return line;
    }
    return line.substr(0, at) + "\033[1;31merror:\033[0m " + line.substr(at + kWord.size());
}

void print_note(const std::string& note) {
    if (!terminal().quiet) {
        print_to_stderr(fmt::format("orrery: {}\n", note));
    }
}

void print_detail(const std::string& detail) {
    if (terminal().verbose && !terminal().quiet) {
        print_to_stderr(fmt::format("orrery: {}\n", detail));
    }
}

}  // namespace orrery
