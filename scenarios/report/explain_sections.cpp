// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/explain_report.h"
#include "scenarios/report/memory_report.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

constexpr std::size_t kLimitsShown = 6;

ReportSection limits_of(const Answer& answer) {
    ReportSection section{.title = "What limits it"};
    section.table.shown = kLimitsShown;
    section.table.columns = {
        {"cause"}, {"points of MFU", Unit::share}, {"time", Unit::seconds}, {"what it is"}};
    for (const LossOfMfu& limit : limits(answer)) {
        section.table.rows.push_back({words_for(limit.cause), limit.mfu, limit.time, limit.words});
    }
    return section;
}

ReportSection suggestions_of(const Explanation& explanation, ChangeKind kind, const char* title) {
    ReportSection section{.title = title};
    section.table.columns = {{"change"},
                             {"tokens/s", Unit::change},
                             {"step", Unit::seconds},
                             {"MFU", Unit::share},
                             {"memory", Unit::bytes},
                             {.title = "--set", .page_only = true}};
    for (const Suggestion& suggestion : explanation.suggestions) {
        if (suggestion.change.kind == kind) {
            std::string changes;
            for (const std::string& one : suggestion.change.overrides) {
                changes += (changes.empty() ? "" : " ") + one;
            }
            section.table.rows.push_back({suggestion.change.words,
                                          suggestion.gain,
                                          suggestion.iteration,
                                          suggestion.mfu,
                                          suggestion.needed_memory,
                                          changes});
        }
    }
    return section;
}

// The useful share of the peak, and the group of causes with most of the rest.
std::string main_line(const Answer& answer) {
    const auto [group, points] = main_limit(answer);
    double all = 0;
    for (const LossOfMfu& limit : limits(answer)) {
        all += limit.mfu;
    }
    double gained = 0;
    for (const LostMfu& part : answer.lost_mfu) {
        gained -= std::min(0.0, part.mfu);
    }
    return fmt::format(
        "A step takes {}: {:.1f} % of the peak is useful work (MFU). Of the {:.1f} points that are "
        "lost, most go to {}: {:.1f}.{}",
        to_short_text(answer.iteration),
        answer.mfu * 100,
        all * 100,
        group,
        points * 100,
        gained < 0.0005
            ? ""
            : fmt::format(" The MFU counts {:.1f} points that no kernel computes.", gained * 100));
}

std::string memory_verdict(const MemoryUse& memory) {
    const double share =
        static_cast<double>(memory.needed().count()) / static_cast<double>(memory.device.count());
    return fmt::format("of {}: {}",
                       to_short_text(memory.device),
                       memory.needed() > memory.device ? "does not fit"
                       : share > 0.9                   ? "hardly any room"
                       : share < 0.5                   ? "much room, which could be spent on speed"
                                                       : "some room");
}

ReportSection experts_of(const Explanation& explanation, const HotExperts& hot) {
    const double gain = 1 - hot.balanced / explanation.answer.iteration;
    ReportSection section{.title = "Uneven experts"};
    section.table.columns = {
        {"rank with most rows"}, {"rank", Unit::count}, {"rows over the mean", Unit::number, 2}};
    section.table.rows = {{"of its stage, over the step",
                           static_cast<std::int64_t>(index(hot.busiest)),
                           hot.busiest_over_mean},
                          {fmt::format("in layer {}, the most uneven one", hot.layer),
                           static_cast<std::int64_t>(index(hot.rank)),
                           hot.over_mean},
                          {"of a micro-batch there", Cell{}, hot.worst},
                          {"of a micro-batch, mean of all layers", Cell{}, hot.mean_worst}};
    section.after = {
        fmt::format("The others wait for the busiest rank of a micro-batch. With equal loads a "
                    "step would take {}: {:.1f} % less.",
                    to_short_text(hot.balanced),
                    gain * 100)};
    if (hot.dropped > 0) {
        section.after.push_back(
            fmt::format("The capacity drops {:.1f} % of all rows.", hot.dropped * 100));
    }
    return section;
}

}  // namespace

Report explain_sections(const Explanation& explanation) {
    const Answer& answer = explanation.answer;
    Report report{.title = answer.scenario};
    report.facts = {{"model", answer.model}, {"cluster", answer.cluster}, {"plan", answer.plan}};
    report.lines = {main_line(answer)};
    if (!answer.memory.fits) {
        report.lines.insert(report.lines.begin(), does_not_fit_line(answer.memory));
    }
    report.cards = {{to_short_text(answer.iteration), "step"},
                    {cell_text(answer.mfu, Unit::share), "MFU (full attention)"},
                    {.value = to_short_text(answer.memory.needed()),
                     .what = "memory of the fullest GPU",
                     .bad = !answer.memory.fits,
                     .more = memory_verdict(answer.memory)}};
    report.sections = {limits_of(answer)};
    if (explanation.hot_experts) {
        report.sections.push_back(experts_of(explanation, *explanation.hot_experts));
    }
    const char* fit =
        answer.memory.fits ? "What would help, simulated" : "What would fit, simulated";
    for (const auto& [kind, title] : {std::pair{ChangeKind::plan, fit},
                                      {ChangeKind::batch, "Another batch"},
                                      {ChangeKind::hardware, "Other hardware"}}) {
        ReportSection section = suggestions_of(explanation, kind, title);
        if (!section.table.rows.empty()) {
            if (report.result.empty()) {
                report.result = section.table;
            }
            report.sections.push_back(std::move(section));
        }
    }
    if (explanation.suggestions.empty()) {
        report.lines.push_back("No single change that was tried helps.");
    }
    report.footer = fmt::format(
        "Tried {} changes, one at a time: {} are not possible, {} do not fit. orrery "
        "search tries them together.",
        explanation.tried,
        explanation.refused,
        explanation.too_large);
    return report;
}

}  // namespace orrery
