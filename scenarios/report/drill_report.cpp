// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/drill_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace orrery {
namespace {

std::vector<std::string> lines_of(const std::vector<Action>& actions) {
    std::vector<std::string> lines;
    for (const Action& action : actions) {
        lines.push_back(to_line(action));
    }
    return lines;
}

std::string row(const char* who, const Incident& i, std::optional<double> seen_s) {
    if (i.resumed_step < 0) {
        return fmt::format("  {:<10} after step {}, not resumed\n", who, i.step);
    }
    return fmt::format(
        "  {:<10} after step {}, resumed from {}, {} lost: {}training {:.3f} s later\n",
        who,
        i.step,
        i.resumed_step,
        i.lost_steps(),
        seen_s ? fmt::format("seen after {:.2f} s, ", *seen_s) : "",
        static_cast<double>(i.end_us - i.begin_us) * 1e-6);
}

std::optional<double> seen_of(const SupervisedRun& run, const Incident& i) {
    for (const RunInterruption& one : run.interruptions) {
        if (one.told_us == i.begin_us) {
            return one.detect_s;
        }
    }
    return std::nullopt;
}

std::optional<double> foreseen_of(const std::map<std::int64_t, double>& detection_s,
                                  const Incident& i) {
    const auto at = detection_s.find(i.step);
    const bool fault = i.what != ObservationKind::node_ready && i.what != ObservationKind::drained;
    return fault && at != detection_s.end() ? std::optional{at->second} : std::nullopt;
}

bool equal(const Incident& a, const Incident& b) {
    // The return of a node and the detection of a slow one depend on time, not on steps.
    const bool timed =
        (a.what == ObservationKind::node_ready || a.what == ObservationKind::node_slow) &&
        b.what == a.what;
    const bool steps = timed ? a.lost_steps() == b.lost_steps()
                             : a.step == b.step && a.resumed_step == b.resumed_step;
    return steps && a.actions == b.actions;
}

}  // namespace

std::string drill_report(const Scenario& scenario,
                         const SupervisedRun& run,
                         const std::vector<Incident>& measured,
                         const std::vector<Incident>& predicted,
                         const std::map<std::int64_t, double>& detection_s) {
    if (measured.empty()) {
        return "";
    }
    std::string text = "\nStops of the run";
    const bool drill = scenario.job.drill;
    text += drill ? ", measured and predicted\n" : "\n";
    std::size_t same = 0;
    const std::size_t all = drill ? std::max(measured.size(), predicted.size()) : measured.size();
    for (std::size_t i = 0; i < all; ++i) {
        const bool has = i < measured.size();
        const bool foretold = drill && i < predicted.size();
        text += fmt::format("\n{}. {}\n", i + 1, name(has ? measured[i].what : predicted[i].what));
        text += has ? row("measured", measured[i], seen_of(run, measured[i])) : "";
        text +=
            foretold ? row("predicted", predicted[i], foreseen_of(detection_s, predicted[i])) : "";
        if (has) {
            text +=
                fmt::format("  did        {}\n", fmt::join(lines_of(measured[i].actions), "; "));
        }
        const bool match = has && foretold && equal(measured[i], predicted[i]);
        same += match ? 1 : 0;
        if (foretold && !match) {
            text +=
                fmt::format("  foretold   {}\n", fmt::join(lines_of(predicted[i].actions), "; "));
        }
    }
    text += run.starts.empty() ? "" : "\nStarts: processes, meeting (predicted), state, ms\n";
    for (const StartTimes& start : run.starts) {
        text += fmt::format("  {} ranks {:10.1f} {:10.1f} ({:.1f}) {:10.1f}\n",
                            start.ranks,
                            1e3 * start.processes_s,
                            1e3 * start.meeting_s,
                            1e3 * start.predicted_meeting_s,
                            1e3 * start.state_s);
    }
    if (drill) {
        text += fmt::format("\n{} of {} stops as predicted: steps and actions\n", same, all);
    }
    return text;
}

}  // namespace orrery
