// SPDX-License-Identifier: Apache-2.0
#include "tests/program/run_program.h"

#include <stdlib.h>
#include <sys/wait.h>


namespace orrery {

namespace fs = std::filesystem;

namespace {

std::string quoted(const std::string& word) {
    std::string text = "'";
    for (const char c : word) {
        text += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
    }
    return text + "'";
}

}  // namespace

Ran run_shell(const std::string& command, const fs::path& folder, int limit_s) {
    const TestFolder files;
    write_text(files.path() / "command", command);
    const auto file = [&](const char* name) { return quoted(files.path() / name); };
    const std::string line = "cd " + quoted(folder) +
                             " && export ORRERY=" + quoted(ORRERY_PROGRAM) + " && exec timeout " +
                             std::to_string(limit_s) + " bash -euo pipefail " + file("command") +
                             " >" + file("out") + " 2>" + file("err") + " </dev/null";
    const int status = std::system(line.c_str());
    return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            .out = read_text(files.path() / "out"),
            .err = read_text(files.path() / "err")};
}

Ran run_orrery(const std::string& arguments) {
    return run_shell("exec " + quoted(ORRERY_PROGRAM) + " " + arguments, ORRERY_SOURCE_DIR);
}

}  // namespace orrery
