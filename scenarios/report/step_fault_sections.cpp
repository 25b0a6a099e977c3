// SPDX-License-Identifier: Apache-2.0
// Sections on faults in a simulated step, and on its packets.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

constexpr std::size_t kShownFaults = 8;
constexpr std::size_t kShownRanks = 8;
constexpr std::size_t kShownGroups = 6;

std::string rank_list(const std::vector<RankId>& ranks) {
    std::string text = ranks.size() == 1 ? "rank" : "ranks";
    for (std::size_t i = 0; i < std::min(ranks.size(), kShownRanks); ++i) {
        text += fmt::format("{} {}", i == 0 ? "" : ",", index(ranks[i]));
    }
    return ranks.size() > kShownRanks
               ? fmt::format("{} and {} more", text, ranks.size() - kShownRanks)
               : text;
}

ReportSection faults_of(const Answer& a) {
    ReportSection section{.title = "Faults in the step", .table = {.columns = {{"fault"}}}};
    section.table.shown = kShownFaults;
    for (const std::string& fault : a.faults) {
        section.table.rows.push_back({fault});
    }
    if (!a.hang) {
        section.after = {
            fmt::format("The step without them takes {}; they change it by {} %.",
                        to_short_text(a.healthy_iteration),
                        signed_text((a.iteration / a.healthy_iteration - 1) * 100, 2))};
        return section;
    }
    if (!a.hang->lost.empty()) {
        section.after.push_back("Lost: " + rank_list(a.hang->lost) + ".");
    }
    section.after.push_back(
        fmt::format("The step never ends: the collective timeout stops the job after {}. All else "
                    "is of the step without the loss.",
                    to_short_text(a.hang->timeout)));
    return section;
}

ReportSection hang_of(const StepHang& hang) {
    ReportSection section{.title = "Which rank waits for which, from the step's begin on"};
    section.table.columns = {
        {"operation"}, {"group"}, {"since", Unit::seconds}, {"waiting"}, {"never arrived"}};
    section.table.shown = kShownGroups;
    for (const StuckGroup& g : hang.groups) {
        section.table.rows.push_back(
            {g.operation,
             g.group,
             g.since,
             rank_list(g.waiting),
             g.missing.empty() ? "none: it broke when all had arrived" : rank_list(g.missing)});
    }
    return section;
}

ReportSection waits_of(const Answer& a) {
    ReportSection section{.title = "Who waits, at arrival"};
    section.table.columns = {{"rank", Unit::count},
                             {"relation"},
                             {"kernels", Unit::seconds},
                             {"for tensor", Unit::seconds},
                             {"pipeline", Unit::seconds},
                             {"data", Unit::seconds},
                             {"other", Unit::seconds}};
    for (const RankWait& w : a.rank_waits) {
        const auto& of = w.waits;
        section.table.rows.push_back(
            {static_cast<std::int64_t>(index(w.rank)),
             w.relation,
             w.kernels,
             of[Cause::exposed_tensor],
             of[Cause::exposed_pipeline],
             of[Cause::exposed_data],
             of[Cause::exposed_context] + of[Cause::exposed_expert] + of[Cause::exposed_other]});
    }
    return section;
}

}  // namespace

std::vector<ReportSection> step_fault_sections(const Answer& a) {
    std::vector<ReportSection> sections;
    if (a.faults.empty()) {
        return sections;
    }
    sections.push_back(faults_of(a));
    if (a.hang) {
        sections.push_back(hang_of(*a.hang));
    } else if (!a.rank_waits.empty()) {
        sections.push_back(waits_of(a));
    }
    return sections;
}

ReportSection packets_section(const Answer& a) {
    ReportSection section{.title = "Packets"};
    if (!a.packets) {
        return section;
    }
    const PacketWindowUse& p = *a.packets;
    const auto fact = [&](const char* name, std::string words) {
        section.facts.push_back({name, std::move(words)});
    };
    fact("window",
         p.whole ? "the whole step"
                 : fmt::format("from {} for {} of the step",
                               p.begin == Time{} ? "its begin" : to_short_text(p.begin),
                               to_short_text(p.lasts)));
    fact("moved",
         fmt::format("{} of {}", counted(p.packets, "packet"), counted(p.transfers, "transfer")));
    fact("met",
         fmt::format("{} marked, {} repeated, {} trimmed, {} dropped; {}{}",
                     thousands(p.marked),
                     thousands(p.repeated),
                     thousands(p.trimmed),
                     thousands(p.dropped),
                     counted(p.pauses, "pause"),
                     p.pauses > 0 ? fmt::format(" at most {} long", to_short_text(p.paused_max))
                                  : std::string{}));
    if (p.queue_max > Bytes{}) {
        fact("fullest queue", fmt::format("{}: {}", to_short_text(p.queue_max), p.queue_at));
    }
    if (p.failed > 0) {
        fact("gave up", counted(p.failed, "connection"));
    }
    fact("transfers",
         fmt::format("take {:.2f} times as long as with fair shares, the worst {:.2f}",
                     p.slowdown,
                     p.slowdown_max));
    fact("step",
         fmt::format("{} with fair shares; packets {} %",
                     to_short_text(p.fair_iteration),
                     signed_text(100 * (a.iteration / p.fair_iteration - 1), 2)));
    return section;
}

}  // namespace orrery
