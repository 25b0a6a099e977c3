// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/trace_difference.h"

#include <algorithm>
#include <tuple>

namespace orrery::reference {
namespace {

std::string text(const TracedOp& op) {
    std::string out;
    for (const std::size_t n : {index(op.rank), std::size_t{op.step}, std::size_t{op.slot}}) {
        out += std::to_string(n) + " ";
    }
    out += std::to_string(op.op) + ":";
    for (const Time t : {op.start, op.data_start, op.end}) {
        out += " " + std::to_string(t.picoseconds());
    }
    return out;
}

bool same(const TracedOp& a, const TracedOp& b) {
    const auto all = [](const TracedOp& op) {
        return std::tuple{op.rank, op.step, op.slot, op.op, op.start, op.data_start, op.end};
    };
    return all(a) == all(b);
}

// In program order of each rank and step, whatever the order of equal starts in the trace.
void sort_by_place(std::vector<TracedOp>& trace) {
    std::ranges::sort(trace, {}, [](const TracedOp& op) {
        return std::tuple{op.rank, op.step, op.slot, op.op};
    });
}

}  // namespace

std::string first_difference(std::vector<TracedOp> expected, std::vector<TracedOp> actual) {
    if (expected.size() != actual.size()) {
        return "traces of " + std::to_string(expected.size()) + " and " +
               std::to_string(actual.size()) + " ops";
    }
    sort_by_place(expected);
    sort_by_place(actual);
    const TracedOp* first = nullptr;
    std::string difference;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (!same(expected[i], actual[i]) && (first == nullptr || expected[i].end < first->end)) {
            first = &expected[i];
            difference = "rank step slot op: start data_start end\nreference " + text(expected[i]) +
                         "\nsimulated " + text(actual[i]);
        }
    }
    return difference;
}

}  // namespace orrery::reference
