// SPDX-License-Identifier: Apache-2.0
// Prints the golden values and what the simulator makes of them, as a Markdown table:
//   golden_table [--each] [SHARE [ID or part of its text]]
// The worst of each reference case, or with --each every one; SHARE of the full work (default 1,
// some minutes). The exit status is 1 if one of them is off by more than is allowed.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tests/golden/golden_case.h"

namespace orrery {
namespace {

struct Row {
    GoldenCase of;
    Measured found;
    double off = 0;   // over the expected value
    double used = 0;  // of what is allowed; above 1: too far
};

Row row_of(const GoldenCase& c, double share) {
    Row row{c, c.simulate(share), 0, 0};
    if (is_band(c)) {
        const bool inside = row.found.value >= c.expected && row.found.value <= c.most;
        row.used = inside ? 0 : 2;
        return row;
    }
    row.off = row.found.value / c.expected - 1;
    row.used = c.tolerance > 0 ? std::abs(row.off) / c.tolerance : row.off == 0 ? 0 : 2;
    return row;
}

std::string number(double value) {
    return std::abs(value) < 1e-4 ? fmt::format("{:.2e}", value) : fmt::format("{:.7g}", value);
}

void print(const Row& row, const std::string& count) {
    const GoldenCase& c = row.of;
    const bool band = is_band(c);
    const std::string expected =
        band ? fmt::format("{} to {}", number(c.expected), number(c.most)) : number(c.expected);
    constexpr double kRoundsToZero = 0.5e-6;  // and then has no sign
    const std::string off = band             ? (row.used > 1 ? "outside" : "inside")
                            : row.off == 0.0 ? "0"
                            : std::abs(row.off) < kRoundsToZero
                                ? "0.0000 %"
                                : fmt::format("{:+.4f} %", 100 * row.off);
    const std::string chance =
        row.found.error > 0 ? fmt::format(" ± {:.4f} %", 100 * row.found.error / row.found.value)
                            : "";
    const std::string allowed = band              ? ""
                                : c.tolerance > 0 ? fmt::format("{:.4f} %", 100 * c.tolerance)
                                                  : "0";
    fmt::print("| {} | {}{} | {} | {} | {}{} | {} |\n",
               c.id,
               count,
               c.what,
               expected,
               number(row.found.value),
               off,
               chance,
               allowed);
}

int table(bool each, double share, std::string_view only) {
    fmt::print("| | golden value | expected | simulated | error | allowed |\n");
    fmt::print("|---|---|---:|---:|---:|---:|\n");
    bool good = true;
    Row worst;
    int count = 0;
    const auto flush = [&] {
        if (count > 0 && !each) {
            print(worst, count > 1 ? fmt::format("worst of {}: ", count) : "");
        }
        count = 0;
    };
    for (const GoldenCase& c : golden_cases()) {
        if (!only.empty() && only != c.id && c.what.find(only) == std::string::npos) {
            continue;
        }
        if (count > 0 && worst.of.id != c.id) {
            flush();
        }
        const Row row = row_of(c, share);
        good = good && row.used <= 1;
        if (each) {
            print(row, "");
        }
        if (count++ == 0 || row.used > worst.used) {
            worst = row;
        }
        std::fflush(stdout);
    }
    flush();
    return good ? 0 : 1;
}

}  // namespace
}  // namespace orrery

int main(int count, char** words) {
    int next = 1;
    const bool each = next < count && std::string_view{words[next]} == "--each";
    next += each ? 1 : 0;
    const double share = next < count ? std::strtod(words[next++], nullptr) : 1;
    return orrery::table(each, share, next < count ? words[next] : "");
}
