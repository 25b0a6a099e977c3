// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/explain_report.h"
#include "scenarios/report/memory_report.h"
#include "scenarios/report/report.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

ReportSection limits_of(const Answer& answer) {
    ReportSection section{.title = "What limits it"};
    section.table.columns = {
        {"cause"}, {"points of MFU", Unit::share}, {"time", Unit::seconds}, {"what it is"}};
    for (const Limit& limit : limits(answer)) {
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
                             {"--set"}};
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

}  // namespace

Report explain_sections(const Explanation& explanation) {
    const Answer& answer = explanation.answer;
    Report report{.title = answer.scenario};
    report.lines = {fmt::format("{} on {}", answer.model, answer.cluster), answer.plan};
    if (!answer.memory.fits) {
        report.lines.insert(report.lines.begin(), does_not_fit_line(answer.memory));
    }
    report.cards = {{to_short_text(answer.iteration), "step"},
                    {cell_text(answer.mfu, Unit::share), "MFU (full attention)"},
                    {to_short_text(answer.memory.needed()),
                     answer.memory.fits ? "memory of the fullest GPU"
                                        : "memory of the fullest GPU: does not fit",
                     !answer.memory.fits}};
    report.sections = {limits_of(answer)};
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
    report.footer =
        fmt::format("Tried {} changes, one at a time: {} are not possible, {} do not fit.",
                    explanation.tried,
                    explanation.refused,
                    explanation.too_large);
    return report;
}

}  // namespace orrery
