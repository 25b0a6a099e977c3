// SPDX-License-Identifier: Apache-2.0
// What tests/gpu/kernel_check is asked for on its command line.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <span>
#include <string>

#include "engine/base/result.h"

namespace orrery::gpu_check {

inline constexpr const char* kCheckUsage =
    "kernel_check [OPTION]... [SEED [ROUNDS]]\n"
    "  Checks the CUDA kernels beside their CPU twins on drawn shapes and at the sizes of "
    "training,\n"
    "  then times them. Every family runs in a process of its own: what one breaks, the others\n"
    "  don't see. SEED is drawn if it is not given; ROUNDS is 6.\n"
    "  --only REGEX    cases whose line in --list matches\n"
    "  --list          print the cases and end; needs no GPU\n"
    "  --no-times      checks alone\n"
    "  --times-only    times alone\n"
    "  --csv FILE      write a line a case too\n"
    "  --limit S       seconds that a family may take; 120 if not given\n"
    "  --one-process   all in one process, for compute-sanitizer and ncu; a CUDA error ends it\n";

struct CheckOptions {
    std::optional<std::uint64_t> seed;
    int rounds = 6;
    std::string only;  // empty: all
    std::string csv;   // a file; empty: none
    bool list = false;
    bool checks = true;
    bool times = true;
    bool one_process = false;
    bool help = false;
    int limit_s = 120;

    // Whether a case with this line in the list is wanted.
    bool wants(const std::string& line) const {
        return only.empty() || std::regex_search(line, std::regex{only});
    }
};

// The words behind the program's name.
Result<CheckOptions> check_options(std::span<const char* const> words);

}  // namespace orrery::gpu_check
