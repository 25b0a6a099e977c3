// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/sweep.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/report/sweep_report.h"

namespace orrery {
namespace {

// If no point has an answer, the study is wrong: one error is reported.
int tell_no_answers(const SweepOutcome& outcome) {
    Errors errors;
    for (const PointResult& point : outcome.results) {
        errors.push_back({"", point.error, ""});
    }
    errors.erase(std::unique(errors.begin(), errors.end()), errors.end());
    errors.resize(std::min<std::size_t>(errors.size(), 5));
    errors.push_back({"", "no point of the study has an answer", "see above"});
    return report_errors(errors);
}

// The scenarios with the keys of all points. Each result has its own provenance with its settings.
Provenance made_of(const SweepArguments& arguments, const Study& study) {
    Provenance provenance = provenance_of("sweep");
    provenance.add_input(arguments.file);
    ReadOptions read;
    for (const auto& [key, value] : study.common) {
        read.overrides.push_back(key + "=" + value);
    }
    for (const std::filesystem::path& file : study.scenarios) {
        provenance.add_input(file);
        if (const auto scenario = read_scenario(file, read)) {
            provenance.scenarios.push_back(scenario->origin);
        }
    }
    return provenance;
}

}  // namespace

bool no_answers(const SweepOutcome& outcome) {
    const auto failed = [](const PointResult& point) { return !point.error.empty(); };
    return !outcome.results.empty() && std::ranges::all_of(outcome.results, failed);
}

int show_outcome(const SweepArguments& arguments, const Study& study, const SweepOutcome& outcome) {
    if (no_answers(outcome)) {
        return tell_no_answers(outcome);
    }
    return show_output(arguments,
                       {.report = sweep_sections(study.name, outcome),
                        .json = sweep_json(study.name, outcome),
                        .provenance = made_of(arguments, study),
                        .csv = sweep_csv(outcome.results),
                        .status = outcome.crashed.empty() ? kExitOk : kExitUserError});
}

void note_faults_of_study(const Study& study) {
    for (const std::filesystem::path& file : study.scenarios) {
        if (const auto scenario = read_scenario(file, {})) {
            note_faults_left_out(*scenario, FaultUser::step);
        }
    }
}

}  // namespace orrery
