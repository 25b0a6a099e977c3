// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "scenarios/format/document/quantity.h"
#include "scenarios/studies/measure/run_comparison.h"

namespace orrery {
namespace {

std::string part_row(std::string_view name, double runs, double measured, double predicted) {
    const std::string error =
        measured > 0 ? fmt::format("{:+.1f}%", 100 * (predicted / measured - 1)) : "";
    return fmt::format("  {:<28} {:>6.0f} {:>12.3f} {:>12.3f} {:>9}\n",
                       name,
                       runs,
                       1e3 * measured,
                       1e3 * predicted,
                       error);
}

}  // namespace

std::string comparison_report(const RunComparison& c) {
    std::string text = fmt::format(
        "{} on {} rank{} of {}\n\n", c.scenario, c.ranks, c.ranks == 1 ? "" : "s", c.machine);
    text += fmt::format("  {:<28} {:>6} {:>12} {:>12} {:>9}\n",
                        "mean of ranks, one step",
                        "runs",
                        "measured ms",
                        "predicted ms",
                        "error");
    for (const ComparedPart& part : c.parts) {
        text += part_row(part.name, part.runs, part.measured_s, part.predicted_s);
    }
    text += part_row("step", 1, c.measured_s, c.predicted_s);
    text += part_row("without other processes", 1, c.replayed_s, c.predicted_s);
    text += fmt::format(
        "\n  measured: mean of {} of {} steps; {} steps were undisturbed by other processes\n"
        "  all steps: median {:.3f} ms, spread {:.1f}%; processor time of a rank {:.3f} ms a step\n"
        "  without other processes: median {:.3f} ms, spread {:.1f}%\n"
        "  the prediction gives itself an uncertainty of {:.1f}%{}\n",
        c.steps_used,
        c.steps,
        c.undisturbed,
        1e3 * c.all_median_s,
        100 * c.all_spread,
        1e3 * c.cpu_s,
        1e3 * c.replayed_s,
        100 * c.replayed_spread,
        100 * c.uncertainty,
        c.unprofiled_cpu ? ": this CPU was never profiled (orrery profile)" : "");
    return text + fmt::format("  tensors of a rank: {} predicted, {} allocated; process {}\n",
                              to_short_text(c.predicted_memory),
                              to_short_text(c.allocated_memory),
                              to_short_text(c.resident_memory));
}

}  // namespace orrery
