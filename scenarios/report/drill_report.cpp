// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/drill_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace orrery {
namespace {

std::string row(const char* who, const Incident& i) {
    return i.resumed_step < 0
               ? fmt::format("  {:<10} after step {}, not resumed\n", who, i.step)
               : fmt::format("  {:<10} after step {}, resumed from {}, {} lost, {:.2f} s\n",
                             who,
                             i.step,
                             i.resumed_step,
                             i.lost_steps(),
                             static_cast<double>(i.end_us - i.begin_us) * 1e-6);
}

bool equal(const Incident& a, const Incident& b) {
    // When a node comes back, or is found to be slow, is a matter of time, not of steps.
    const bool timed = (a.what == "node_ready" || a.what == "node_slow") && b.what == a.what;
    const bool steps = timed ? a.lost_steps() == b.lost_steps()
                             : a.step == b.step && a.resumed_step == b.resumed_step;
    return steps && a.actions == b.actions;
}

}  // namespace

std::string drill_report(const Scenario& scenario,
                         const SupervisedRun& run,
                         const std::vector<Incident>& measured,
                         const std::vector<Incident>& predicted) {
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
        text += fmt::format("\n{}. {}\n", i + 1, has ? measured[i].what : predicted[i].what);
        text += has ? row("measured", measured[i]) : "";
        text += foretold ? row("predicted", predicted[i]) : "";
        if (has && i < run.interruptions.size()) {
            text +=
                fmt::format("             seen after {:.2f} s, training {:.2f} s after the order\n",
                            run.interruptions[i].detect_s,
                            run.interruptions[i].restart_s);
        }
        if (has) {
            text += fmt::format("  did        {}\n", fmt::join(measured[i].actions, "; "));
        }
        const bool match = has && foretold && equal(measured[i], predicted[i]);
        same += match ? 1 : 0;
        if (foretold && !match) {
            text += fmt::format("  foretold   {}\n", fmt::join(predicted[i].actions, "; "));
        }
    }
    for (std::size_t i = 0; i < run.meetings.size(); ++i) {
        const MeasuredMeeting& m = run.meetings[i];
        text += fmt::format("{}{} processes met and connected in {:.1f} ms, predicted {:.1f} ms\n",
                            i == 0 ? "\n" : "",
                            m.ranks,
                            1e3 * m.measured_s,
                            1e3 * m.predicted_s);
    }
    if (drill) {
        text += fmt::format("\n{} of {} stops as predicted: steps and actions\n", same, all);
    }
    return text;
}

}  // namespace orrery
