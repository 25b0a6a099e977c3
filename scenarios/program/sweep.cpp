// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/report/sweep_report.h"
#include "scenarios/report/terminal.h"
#include "scenarios/studies/sweep/sweep.h"

namespace orrery {
namespace {

// A shard's results have a name of their own: shards may run in one folder.
std::string results_name(const SweepArguments& arguments, const Shard& shard) {
    if (!arguments.results.empty()) {
        return arguments.results;
    }
    const std::string stem = std::filesystem::path{arguments.file}.stem().string();
    return shard.of == 1 ? stem + ".sqlite"
                         : fmt::format("{}.{}-of-{}.sqlite", stem, shard.number, shard.of);
}

bool no_answers(const SweepOutcome& outcome) {
    const auto failed = [](const PointResult& point) { return !point.error.empty(); };
    return !outcome.results.empty() && std::ranges::all_of(outcome.results, failed);
}

// Every point without an answer is the study's mistake, and told as one.
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

// The scenarios as all points have them; each result has its own with its settings.
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

int print_outcome(const SweepArguments& arguments,
                  const Study& study,
                  const SweepOutcome& outcome) {
    if (no_answers(outcome)) {
        return tell_no_answers(outcome);
    }
    return show_output(arguments,
                       {.report = sweep_sections(study.name, outcome),
                        .json = sweep_json(study.name, outcome),
                        .provenance = made_of(arguments, study),
                        .text = sweep_report(study.name, outcome),
                        .csv = sweep_csv(outcome.results),
                        .status = outcome.crashed.empty() ? kExitOk : kExitUserError});
}

// Of the scenarios as they are; a point that changes them says so in its own answer.
void note_faults(const Study& study) {
    for (const std::filesystem::path& file : study.scenarios) {
        if (const auto scenario = read_scenario(file, {})) {
            note_faults_left_out(*scenario, FaultUser::step);
        }
    }
}

}  // namespace

int sweep_command(const SweepArguments& arguments) {
    const ResultOrErrors<Study> study = read_study(arguments.file);
    if (!study) {
        return report_errors(study.error());
    }
    const Result<Shard> shard =
        arguments.shard.empty() ? shard_of_environment() : parse_shard(arguments.shard);
    if (!shard) {
        return report_error(shard.error());
    }
    const auto mpi = MpiWorld::join();
    if (!mpi) {
        return report_error(mpi.error());
    }
    const bool leader = *mpi == nullptr || (*mpi)->rank() == 0;
    const Result<void> views = leader ? check_views(arguments) : Result<void>{};
    const bool well = views.has_value();
    const bool all_well = *mpi == nullptr ? well : (*mpi)->all_well(well);
    if (!well) {
        return report_error(views.error());
    }
    if (!all_well) {
        return kExitUserError;  // rank 0 tells
    }
    if (leader) {
        note_faults(*study);
    }
    ProgressBar bar{"sweeping"};
    SweepOptions options{.results = results_name(arguments, *shard), .shard = *shard};
    options.text = [](const Answer& answer, const Provenance& provenance) {
        return with_provenance(json_report(answer), provenance);
    };
    options.jobs =
        arguments.jobs > 0 ? arguments.jobs : std::max(1U, std::thread::hardware_concurrency());
    if (leader) {
        options.progress = [&bar](double share) { bar.show(share); };
    }
    std::error_code ignored;
    const bool was_there = std::filesystem::exists(options.results, ignored);
    const auto outcome = sweep(*study, options, mpi->get());
    bar.finish();
    if (!outcome) {
        return report_error(outcome.error());
    }
    if (*outcome && (*outcome)->outdated > 0) {
        print_note(
            fmt::format("{}: another build of Orrery had finished {} of the points; they "
                        "were run again",
                        options.results.string(),
                        (*outcome)->outdated));
    }
    // Nothing is kept of a mistaken study; the parts of a divided one are for orrery merge.
    if (*outcome && !was_there && shard->of == 1 && no_answers(**outcome)) {
        remove_results(options.results);
    }
    return *outcome ? print_outcome(arguments, *study, **outcome) : kExitOk;
}

Command describe_sweep() {
    const auto arguments = std::make_shared<SweepArguments>();
    const CommandOption results{"-o,--output",
                                &arguments->results,
                                "Results (SQLite); STUDY.sqlite in this folder if not given",
                                "FILE"};
    return {
        .name = "sweep",
        .help = "Simulate the points of a study that have no result yet; can be stopped any time",
        .options = joined(
            {{{"file", &arguments->file, "Study file (YAML)", "FILE", true},
              results,
              {"-j,--jobs",
               &arguments->jobs,
               "Processes; 0 (if not given): one for each core. Under mpirun each rank is one",
               "N"},
              {"--shard",
               &arguments->shard,
               "Only the I-th of N shards; in a Slurm job array each task is one",
               "I/N"},
              old_option("-r,--results", "--output", results)},
             view_options(*arguments, {.html = kPageHelp, .csv = "Write the points as a table"})}),
        .examples = {"sweep scenarios/sweep-70b-plans.yaml",
                     "sweep scenarios/sweep-70b-plans.yaml --shard 1/4 --csv first.csv"},
        .run = [arguments] { return sweep_command(*arguments); },
    };
}

}  // namespace orrery
