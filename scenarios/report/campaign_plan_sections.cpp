// SPDX-License-Identifier: Apache-2.0
// Sections on a recovery plan in a campaign: its figures, its uncovered faults, and its first run.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

constexpr std::size_t kIncidentsShown = 12;

std::string seconds_text(double seconds) {
    return to_short_text(WallTime::seconds(seconds));
}

std::string count_text(const Statistic& s) {
    return fmt::format("{:.1f} ± {:.1f}", s.mean, (s.high - s.low) / 2);
}

std::string checkpoints_text(const PlanAnswer& p) {
    return fmt::format("every {}, stall {}, durable after {}{}",
                       to_short_text(p.interval),
                       to_short_text(p.checkpoint.stall),
                       to_short_text(p.checkpoint.copy),
                       p.checkpoint.memory_interval > WallTime{}
                           ? ", in memory every " + to_short_text(p.checkpoint.memory_interval)
                           : "");
}

std::string restart_text(const PlanAnswer& p) {
    const StartUpAnswer& s = p.start_up;
    return s.given ? to_short_text(p.costs.restart_full)
                   : fmt::format("{} processes, {} rendezvous and {} communicators",
                                 to_short_text(s.processes),
                                 to_short_text(s.communicators),
                                 thousands(s.groups));
}

std::string loading_text(const PlanAnswer& p) {
    const StartUpAnswer& s = p.start_up;
    if (s.read == WallTime{}) {
        return to_short_text(p.costs.load_remote);
    }
    return fmt::format(
        "{}{} one copy from the store, {} its broadcast",
        s.planning > WallTime{} ? to_short_text(s.planning) + " who reads what, " : "",
        to_short_text(s.read),
        to_short_text(s.broadcast));
}

// Shown instead of a time after interruptions if there was none.
constexpr const char* kNoInterruption = "no interruption";

std::string mttr_text(const PlanAnswer& p) {
    if (p.mttr_s <= 0) {
        return kNoInterruption;
    }
    const auto part = [&](NodeUse use) {
        return seconds_text(p.per_interruption_s[static_cast<std::size_t>(use)]);
    };
    return fmt::format("{}: detect {}, diagnose {}, {}wait {}, swap {}, restart {}, load {}",
                       seconds_text(p.mttr_s),
                       part(NodeUse::detection),
                       part(NodeUse::diagnosis),
                       p.per_interruption_s[static_cast<std::size_t>(NodeUse::checking)] > 0
                           ? fmt::format("check {}, ", part(NodeUse::checking))
                           : "",
                       part(NodeUse::waiting),
                       part(NodeUse::replacing),
                       part(NodeUse::restart),
                       part(NodeUse::restore));
}

std::string interruptions_text(const PlanAnswer& p) {
    return fmt::format("{}, MTTF {}, {:.1f} restarts, {:.1f} human calls",
                       count_text(p.interruptions),
                       p.mttf_h ? seconds_text(*p.mttf_h * 3600) : "longer than the runs",
                       p.restarts.mean,
                       p.operator_calls.mean);
}

}  // namespace

std::string share_text(const Statistic& s) {
    return fmt::format("{:.2f} ± {:.2f} %", s.mean * 100, (s.high - s.low) * 50);
}

ReportSection recovery_plan_section(const PlanAnswer& p, double tokens) {
    ReportSection section{.title = p.name};
    const auto fact = [&](const char* name, std::string words) {
        section.facts.push_back({name, std::move(words)});
    };
    fact("policies", fmt::format("{}; {} spares", fmt::join(p.policies, ", "), p.spares));
    fact("checkpoints", checkpoints_text(p));
    fact("ETTR",
         fmt::format("{}  (run to run {:.2f} to {:.2f} %)",
                     share_text(p.ettr),
                     p.ettr.p5 * 100,
                     p.ettr.p95 * 100));
    fact("goodput", share_text(p.goodput));
    fact("effective MFU", share_text(p.effective_mfu));
    fact("interruptions", interruptions_text(p));
    fact("MTTR", mttr_text(p));
    fact("a full restart", restart_text(p));
    fact("loading", loading_text(p));
    fact("recovery time",
         p.recovery_max_s > 0 ? fmt::format("median {}, p95 {}, longest {}",
                                            seconds_text(p.recovery_p50_s),
                                            seconds_text(p.recovery_p95_s),
                                            seconds_text(p.recovery_max_s))
                              : kNoInterruption);
    fact("lost work",
         fmt::format("{:.1f} h a run", p.lost_h.mean) +
             (p.restarts.mean > 0 ? fmt::format("; of a restart median {}, p95 {}",
                                                seconds_text(p.loss_p50_s),
                                                seconds_text(p.loss_p95_s))
                                  : ""));
    fact("evictions",
         fmt::format("{:.1f}, of which {:.1f} healthy; at most {} in repair at once",
                     p.evictions.mean,
                     p.false_evictions.mean,
                     counted(std::llround(p.down_most), "node")));
    if (p.undetected.mean > 0) {
        fact("wrong numbers",
             fmt::format("unnoticed at the end of {:.0f} % of the runs", p.undetected.mean * 100));
    }
    if (tokens > 0) {
        fact("to finish",
             fmt::format("{:.3g} tokens: {:.1f} days (p5 {:.1f}, p95 {:.1f})",
                         tokens,
                         p.finish_days.mean,
                         p.finish_days.p5,
                         p.finish_days.p95));
    }
    for (const auto& [policy, what] : p.not_covered) {
        fact("not covered", policy + ": " + what);
    }
    return section;
}

ReportSection first_run_section(const PlanAnswer& p) {
    ReportSection section{.title = fmt::format("Events of the run of seed {}", p.first.seed)};
    section.table = {.columns = {{"time"}, {"event"}}};
    section.table.shown = kIncidentsShown;
    section.table.rest = "more; --trace FILE has all";
    for (const TimelineMark& mark : p.first.marks) {
        // The text of an observation begins with its time in seconds, which the first column
        // already has.
        section.table.rows.push_back(
            {to_clock_text(mark.time),
             mark.is_observation ? "  " + mark.text.substr(mark.text.find(' ') + 1) : mark.text});
    }
    section.after = {
        fmt::format("One-hour sliding ETTR: median {:.1f} %, p5 {:.1f} %, least "
                    "{:.1f} %.",
                    p.sliding.p50 * 100,
                    p.sliding.p5 * 100,
                    p.sliding.least * 100)};
    return section;
}

}  // namespace orrery
