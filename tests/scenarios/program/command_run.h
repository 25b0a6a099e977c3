// SPDX-License-Identifier: Apache-2.0
// Runs a command of the program and catches what it prints.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace orrery {

struct CommandRun {
    int status = -1;
    std::string out;
    std::string err;
};

template <class Command>
CommandRun run_command(const Command& command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    CommandRun run;
    run.status = command();
    run.out = testing::internal::GetCapturedStdout();
    run.err = testing::internal::GetCapturedStderr();
    return run;
}

}  // namespace orrery
