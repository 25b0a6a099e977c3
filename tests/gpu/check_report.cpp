// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/check_report.h"

#include <fmt/format.h>

#include <array>

namespace orrery::gpu_check {
namespace {

std::string field(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? "\"\"" : std::string{c};
    }
    return quoted + "\"";
}

}  // namespace

std::string check_line(const CheckedCase& row) {
    const std::string kernel =
        fmt::format("{:26} {:34} {:5} {:11}", row.kernel, row.shape, row.dtype, row.cores);
    const std::string error = row.error ? fmt::format(" {:9.2e}", *row.error) : "";
    const std::string time =
        row.seconds ? fmt::format(" {:10.1f} us {:9.1f} {}", 1e6 * *row.seconds, row.rate, row.unit)
                    : "";
    const bool said = row.status == "timed" && row.seconds;
    const std::string status = said ? "" : (row.good() ? "  " : "  FAILED: ") + row.status;
    return kernel + error + time + status + "\n";
}

std::string csv_head() {
    return "family,kernel,shape,dtype,cores,status,error,seconds,rate,unit\n";
}

std::string csv_line(const CheckedCase& row) {
    const std::array<std::string, 10> fields{row.family,
                                             row.kernel,
                                             row.shape,
                                             row.dtype,
                                             row.cores,
                                             row.status,
                                             row.error ? fmt::format("{:.3e}", *row.error) : "",
                                             row.seconds ? fmt::format("{:.4e}", *row.seconds) : "",
                                             row.seconds ? fmt::format("{:.5g}", row.rate) : "",
                                             row.unit};
    std::string line;
    for (const std::string& text : fields) {
        line += (line.empty() ? "" : ",") + field(text);
    }
    return line + "\n";
}

}  // namespace orrery::gpu_check
