// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/campaign_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/format/document/utf8.h"
#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/text_table.h"

namespace orrery {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kIncidentsShown = 12;
constexpr std::size_t kClassesShown = 20;

std::string seconds_text(double seconds) {
    return to_short_text(WallTime::seconds(seconds));
}

// A percentage with half the width of its confidence interval.
std::string share_text(const Statistic& s) {
    return fmt::format("{:5.2f} ± {:.2f} %", s.mean * 100, (s.high - s.low) * 50);
}

std::string count_text(const Statistic& s) {
    return fmt::format("{:.1f} ± {:.1f}", s.mean, (s.high - s.low) / 2);
}

std::string bar(double share, std::size_t width) {
    const auto filled = static_cast<std::size_t>(
        std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
    std::string text;
    for (std::size_t i = 0; i < filled; ++i) {
        text += "█";
    }
    return filled == 0 && share > 0 ? "▏" : text;
}

std::string heading(const CampaignAnswer& a) {
    std::string text = fmt::format("{}\n\n", cut(a.scenario, kColumns));
    text += fmt::format("  cluster     {} GPUs: {}\n", thousands(a.gpus), a.cluster);
    text += fmt::format("  campaign    {} of training, {} seeds from {} on\n",
                        to_short_text(a.length),
                        a.seeds,
                        a.first_seed);
    text += fmt::format("  step        {} ({}), MFU {:.1f} %, {:.3g} tokens a day\n",
                        to_short_text(a.step),
                        a.step_simulated ? "simulated" : "given",
                        a.mfu * 100,
                        a.tokens_per_day);
    if (a.step_simulated && (a.slow_slope != 1 || a.shrunk != 1)) {
        text += fmt::format(
            "  degraded    a node slower by 10 %: {:+.1f} % a step; one unit less: {:.2f} % of the "
            "pace\n",
            a.slow_slope * 10,
            a.shrunk * 100);
    }
    text += a.mtbf_h > 0 ? fmt::format("  faults      one that stops the job every {}, expected\n",
                                       seconds_text(a.mtbf_h * 3600))
                         : std::string{"  faults      none that stop the job\n"};
    return text;
}

// The plans side by side, if there are several.
std::string comparison(const CampaignAnswer& a) {
    if (a.plans.size() < 2) {
        return {};
    }
    std::string text =
        "\nRecovery plan                       ETTR           goodput    against the first   "
        "spares  lost\n\n";
    for (const PlanAnswer& plan : a.plans) {
        const Statistic& d = plan.ettr_over_first;
        const bool first = &plan == &a.plans.front();
        const std::string difference =
            first ? ""
                  : fmt::format("{:+.2f} ± {:.2f} points", d.mean * 100, (d.high - d.low) * 50);
        text += fmt::format("  {:<26}{:>16}{:>17} {:>20}{:>8}{:>9}\n",
                            cut(plan.name, 25),
                            share_text(plan.ettr),
                            share_text(plan.goodput),
                            difference,
                            plan.spares,
                            fmt::format("{:.1f} h", plan.lost_h.mean));
    }
    return text +
           "\n  ± is half of the 95 % confidence interval; differences are paired: every plan "
           "meets "
           "the\n  same faults.\n";
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

std::string mttr_text(const PlanAnswer& p) {
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

// What does not fit in the line goes on in the next one, under its begin.
std::string aligned_line(const std::string& head, const std::string& value) {
    const std::size_t indent = num_characters(head);
    return indent + num_characters(value) <= kColumns
               ? head + value + "\n"
               : head + wrapped(value, kColumns, indent).substr(indent);
}

std::string results(const PlanAnswer& p, const CampaignAnswer& a) {
    std::string text = fmt::format("\n{}\n\n", cut(p.name, kColumns));
    const auto line = [&](const char* what, const std::string& value) {
        text += aligned_line(fmt::format("  {:<18}", what), value);
    };
    line("policies", fmt::format("{}; {} spares", fmt::join(p.policies, ", "), p.spares));
    line("checkpoints",
         fmt::format("every {}, stall {}, durable after {}{}",
                     to_short_text(p.interval),
                     to_short_text(p.checkpoint.stall),
                     to_short_text(p.checkpoint.copy),
                     p.checkpoint.memory_interval > WallTime{}
                         ? ", in memory every " + to_short_text(p.checkpoint.memory_interval)
                         : ""));
    line("ETTR",
         fmt::format("{}  (run to run {:.2f} to {:.2f} %)",
                     share_text(p.ettr),
                     p.ettr.p5 * 100,
                     p.ettr.p95 * 100));
    line("goodput", share_text(p.goodput));
    line("effective MFU", share_text(p.effective_mfu));
    line("interruptions",
         fmt::format("{}, MTTF {}, {} restarts, {} human calls",
                     count_text(p.interruptions),
                     p.mttf_h ? seconds_text(*p.mttf_h * 3600) : "longer than the runs",
                     fmt::format("{:.1f}", p.restarts.mean),
                     fmt::format("{:.1f}", p.operator_calls.mean)));
    line("MTTR", mttr_text(p));
    line("a full restart", restart_text(p));
    line("loading", loading_text(p));
    line("recovery time",
         fmt::format("median {}, p95 {}, longest {}",
                     seconds_text(p.recovery_p50_s),
                     seconds_text(p.recovery_p95_s),
                     seconds_text(p.recovery_max_s)));
    line("lost work",
         fmt::format("{:.1f} h a run; of a restart median {}, p95 {}",
                     p.lost_h.mean,
                     seconds_text(p.loss_p50_s),
                     seconds_text(p.loss_p95_s)));
    line("evictions",
         fmt::format("{:.1f}, of which {:.1f} healthy; at most {:.0f} nodes in repair at once",
                     p.evictions.mean,
                     p.false_evictions.mean,
                     p.down_most));
    if (p.undetected.mean > 0) {
        line("wrong numbers",
             fmt::format("unnoticed at the end of {:.0f} % of the runs", p.undetected.mean * 100));
    }
    if (a.tokens > 0) {
        line("to finish",
             fmt::format("{:.3g} tokens: {:.1f} days (p5 {:.1f}, p95 {:.1f})",
                         a.tokens,
                         p.finish_days.mean,
                         p.finish_days.p5,
                         p.finish_days.p95));
    }
    return text;
}

std::string hours_text(const PlanAnswer& p) {
    double all = 0;
    for (const double of : p.gpu_hours) {
        all += of;
    }
    std::string text = "\n  GPU-hours of a run\n";
    for (std::size_t u = 0; u < kNumNodeUses; ++u) {
        if (p.gpu_hours[u] > 0) {
            text += fmt::format("    {:<14}{:>14}  {:6.2f} %  {}\n",
                                name(static_cast<NodeUse>(u)),
                                thousands(std::llround(p.gpu_hours[u])),
                                p.gpu_hours[u] / all * 100,
                                bar(p.gpu_hours[u] / all, 50));
        }
    }
    return text + fmt::format("    {:<14}{:>14}\n", "all", thousands(std::llround(all)));
}

std::string classes(const PlanAnswer& p) {
    auto faults = p.faults;
    std::stable_sort(faults.begin(), faults.end(), [](const auto& x, const auto& y) {
        return x.second > y.second;
    });
    std::string text = "\n  Faults that hit the job, a run\n";
    for (std::size_t i = 0; i < std::min(faults.size(), kClassesShown); ++i) {
        text += fmt::format("    {:<40}{:>8.1f}\n", cut(faults[i].first, 39), faults[i].second);
    }
    if (faults.size() > kClassesShown) {
        text += fmt::format("    and {} more classes\n", faults.size() - kClassesShown);
    }
    return text;
}

std::string timeline(const PlanAnswer& p) {
    static constexpr const char* kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::string text =
        fmt::format("\n  The run of seed {}: ETTR of {} equal parts, of 70 % to 100 %\n    ",
                    p.first.seed,
                    p.ettr_by_day.size());
    for (const double part : p.ettr_by_day) {
        const double level = (part - 0.7) / 0.3 * 8;
        text += kLevels[static_cast<std::size_t>(std::clamp(std::lround(level), 0L, 8L))];
    }
    text +=
        fmt::format("\n    one-hour sliding ETTR: median {:.1f} %, p5 {:.1f} %, least {:.1f} %\n",
                    p.sliding.p50 * 100,
                    p.sliding.p5 * 100,
                    p.sliding.least * 100);
    for (std::size_t i = 0; i < std::min(p.first.marks.size(), kIncidentsShown); ++i) {
        const TimelineMark& mark = p.first.marks[i];
        // The clock says the same as the time at the line's begin.
        const bool logged = mark.is_observation;
        const std::string clock = "    " + to_clock_text(mark.time) + (logged ? "    " : "  ");
        text += aligned_line(clock, logged ? mark.text.substr(mark.text.find(' ') + 1) : mark.text);
    }
    if (p.first.marks.size() > kIncidentsShown) {
        text += fmt::format("    and {} more; --trace FILE has all\n",
                            p.first.marks.size() - kIncidentsShown);
    }
    return text;
}

std::string uncovered(const PlanAnswer& p) {
    std::string text = "\n  Not covered\n";
    for (const auto& [policy, what] : p.not_covered) {
        text += aligned_line(fmt::format("    {:<18}", policy), what);
    }
    return text;
}

}  // namespace

std::string campaign_report(const CampaignAnswer& answer) {
    std::string text = heading(answer) +
                       fault_classes_text(answer.fault_classes, to_short_text(answer.length)) +
                       comparison(answer);
    for (const PlanAnswer& plan : answer.plans) {
        text += results(plan, answer);
        if (answer.plans.size() == 1) {
            text += hours_text(plan) + classes(plan) + timeline(plan);
        }
        text += uncovered(plan);
    }
    return text + fmt::format("\norrery {}, seeds {} to {}, {}\n",
                              answer.version,
                              answer.first_seed,
                              answer.first_seed + answer.seeds - 1,
                              seconds_text(answer.wall_s));
}

}  // namespace orrery
