// SPDX-License-Identifier: Apache-2.0
#include "tests/program/run_program.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

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
    write_file(files.path() / "command", command);
    const auto file = [&](const char* name) { return quoted(files.path() / name); };
    const std::string line = "cd " + quoted(folder) +
                             " && export ORRERY=" + quoted(ORRERY_PROGRAM) + " && exec timeout " +
                             std::to_string(limit_s) + " bash -euo pipefail " + file("command") +
                             " >" + file("out") + " 2>" + file("err") + " </dev/null";
    const int status = std::system(line.c_str());
    return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            .out = read_file(files.path() / "out"),
            .err = read_file(files.path() / "err")};
}

Ran run_orrery(const std::string& arguments) {
    return run_shell("exec " + quoted(ORRERY_PROGRAM) + " " + arguments, ORRERY_SOURCE_DIR);
}

TestFolder::TestFolder() {
    std::string name = (fs::temp_directory_path() / "orrery-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("cannot make a folder like " + name);
    }
    path_ = name;
}

TestFolder::~TestFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

void write_file(const fs::path& path, const std::string& text) {
    std::ofstream{path, std::ios::binary} << text;
}

std::string read_file(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream{path, std::ios::binary}.rdbuf();
    return text.str();
}

}  // namespace orrery
