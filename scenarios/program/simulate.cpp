// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/simulate.h"

#include <functional>
#include <memory>
#include <utility>

#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/simulate/simulate_jobs.h"

namespace orrery {
namespace {

// Refuses options about the step of a single job.
Result<void> check_jobs(const SimulateArguments& arguments) {
    for (const auto& [option, value] : {std::pair{"--trace", &arguments.trace_file},
                                        {"--export-chakra", &arguments.chakra_folder},
                                        {"--profile", &arguments.profile_file},
                                        {"--calibration", &arguments.calibration_file}}) {
        if (!value->empty()) {
            return fail(option,
                        "looks into one job, and the scenario has several",
                        "a scenario with that job's model and plan");
        }
    }
    return {};
}

ResultOrErrors<StudyOutput> jobs_output(const SimulateArguments& arguments,
                                        const SimulatedCase& simulated,
                                        const std::function<void(double)>& progress) {
    const Result<JobsAnswer> answer =
        simulate_jobs(simulated.scenario, {.fold = simulated.fold, .progress = progress});
    if (!answer) {
        return unexpected<Errors>(Errors{answer.error()});
    }
    return StudyOutput{.report = jobs_sections(*answer),
                       .json = jobs_json(*answer),
                       .provenance = provenance_of(arguments, simulated)};
}

}  // namespace

int simulate_command(const SimulateArguments& arguments) {
    ResultOrErrors<SimulatedCase> simulated = simulated_case(arguments);
    if (!simulated) {
        return report_errors(simulated.error());
    }
    const bool several = !simulated->scenario.jobs.empty();
    const Result<void> possible =
        several ? check_jobs(arguments) : check_chakra(arguments, simulated->scenario);
    if (!possible) {
        return report_error(possible.error());
    }
    if (!arguments.profile_file.empty()) {
        simulated->scenario = on_own_runtime(std::move(simulated->scenario));
    }
    return run_study(arguments, simulated->source, "simulating", [&](const auto& progress) {
        return several ? jobs_output(arguments, *simulated, progress)
                       : step_output(arguments, *simulated, progress);
    });
}

Command describe_simulate() {
    const auto arguments = std::make_shared<SimulateArguments>();
    CommandOption scenario = scenario_option(arguments->file);
    scenario.required = false;  // --from may replace it
    return {
        .name = "simulate",
        .group = CommandGroup::predict,
        .help = "Simulate a training step of a scenario: step time, MFU, memory",
        .options = joined(
            {{scenario,
              override_option(arguments->overrides, keys_of_step()),
              {"--from",
               &arguments->result_file,
               "Repeat a result (of simulate --json) in place of a scenario file",
               "RESULT.json"}},
             view_options(*arguments,
                          {.html = "Write a page with pictures: waterfall, ranks over time, "
                                   "memory, links",
                           .csv = "Write the figures as a table of one row",
                           .trace = "Write a Perfetto trace of a rank of each role (in Chrome's "
                                    "format, if its name ends with .json)"}),
             {{"--export-chakra",
               &arguments->chakra_folder,
               "Write the step as Chakra execution traces, which ASTRA-sim reads",
               "FOLDER"},
              {"--profile",
               &arguments->profile_file,
               "Measured times (CSV), as orrery profile and calibrate write them",
               "FILE"},
              calibration_option(arguments->calibration_file),
              {"!--no-fold",
               &arguments->fold,
               "Simulate every rank on its own (slow; the answer is the same)"}}}),
        .examples = {"simulate scenarios/megascale-175b-12288.yaml",
                     "simulate scenarios/llama3-8b-h100.yaml --set plan.global_batch_size=256 "
                     "--json",
                     "simulate scenarios/llama3-70b-h100.yaml --html llama3.html --trace "
                     "llama3.perfetto-trace",
                     "simulate --from result.json --json"},
        .run = [arguments] { return simulate_command(*arguments); },
    };
}

}  // namespace orrery
