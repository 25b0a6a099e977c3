// SPDX-License-Identifier: Apache-2.0
// What tests/gpu/kernel_check says about a case: a line on the console and one in a CSV file.
#pragma once

#include <optional>
#include <string>

namespace orrery::gpu_check {

struct CheckedCase {
    std::string family;  // what shares a process: "attention/warpgroups"
    std::string kernel;
    std::string shape;
    std::string dtype;
    std::string cores;  // "none", "warps" or "warpgroups"
    // "ok", "timed", or what is wrong.
    std::string status;
    std::optional<double> error;    // largest relative error of an operand
    std::optional<double> seconds;  // median
    double rate = 0;                // of a timed case
    std::string unit;               // "TFLOP/s" or "GB/s"

    bool good() const { return status == "ok" || status == "timed"; }
};

std::string check_line(const CheckedCase& row);
std::string csv_head();
// RFC 4180: fields with commas, quotes or line ends are quoted.
std::string csv_line(const CheckedCase& row);

}  // namespace orrery::gpu_check
