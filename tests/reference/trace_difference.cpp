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

// However ranks were folded.
std::vector<Time> compute_by_rank(const SimulationResult& result) {
    std::vector<Time> times;
    for (const std::uint32_t fold_class : result.fold_class_of_rank) {
        times.push_back(result.rank_compute[fold_class]);
    }
    return times;
}

std::vector<TracedOp> last_step(const SimulationResult& result) {
    const std::size_t last = result.step_end.size() - 1;
    const Time before = last > 0 ? result.step_end[last - 1] : Time{};
    std::vector<TracedOp> ops;
    for (TracedOp op : result.trace) {
        if (op.step == last) {
            op.start -= before;
            op.data_start -= before;
            op.end -= before;
            ops.push_back(op);
        }
    }
    return ops;
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

std::string last_step_difference(const SimulationResult& expected, const SimulationResult& actual) {
    if (expected.iteration != actual.iteration) {
        return "iteration of " + std::to_string(expected.iteration.picoseconds()) + " and " +
               std::to_string(actual.iteration.picoseconds());
    }
    if (expected.critical_path.of != actual.critical_path.of) {
        return "critical path";
    }
    if (expected.busy_sum.of != actual.busy_sum.of) {
        return "busy sum";
    }
    if (expected.slowest_rank != actual.slowest_rank) {
        return "slowest rank";
    }
    if (compute_by_rank(expected) != compute_by_rank(actual)) {
        return "kernel time of ranks";
    }
    if (expected.simulated_ops != actual.simulated_ops ||
        expected.link_class_utilisation_mean != actual.link_class_utilisation_mean ||
        expected.link_class_utilisation_max != actual.link_class_utilisation_max) {
        return "ops or utilisation";
    }
    for (std::size_t step = 1; step < expected.step_end.size(); ++step) {
        if (expected.step_end[step] - expected.step_end[step - 1] !=
            actual.step_end[step] - actual.step_end[step - 1]) {
            return "ends of steps";
        }
    }
    return first_difference(last_step(expected), last_step(actual));
}

}  // namespace orrery::reference
