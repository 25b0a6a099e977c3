// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "models/lowering.h"
#include "scenarios/program/calibration_file.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/simulated_case.h"
#include "scenarios/report/chakra_export.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/html_report.h"
#include "scenarios/report/jobs_report.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/perfetto_trace.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/simulate/simulate_jobs.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// Every op of every rank is held in memory: this many at most.
constexpr std::int64_t kChakraOpsMax = 20'000'000;

// The last step's ops of all ranks, from the simulation on its way.
void keep_last_step(const SimulationResult& result, std::vector<TracedOp>& ops) {
    std::uint32_t last = 0;
    for (const TracedOp& op : result.trace) {
        last = std::max(last, op.step);
    }
    std::ranges::copy_if(
        result.trace, std::back_inserter(ops), [&](const TracedOp& op) { return op.step == last; });
}

Result<void> check_chakra(const SimulateArguments& arguments, const Scenario& scenario) {
    if (arguments.chakra_folder.empty()) {
        return {};
    }
    const std::int64_t ops = num_ops(lower(scenario.model, scenario.plan));
    if (ops > kChakraOpsMax) {
        return fail("--export-chakra",
                    fmt::format("{} operations are too many to write", ops),
                    fmt::format("at most {}: fewer GPUs, or fewer micro-batches", kChakraOpsMax));
    }
    return {};
}

// Options that look into the step of one job.
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
                       .provenance = provenance_of(arguments, simulated),
                       .text = jobs_report(*answer)};
}

// Draws the trace where a page wants it and writes it to a file that has a name.
decltype(SimulationOptions::trace) tracing(const std::string& file, TimelineBars* timeline) {
    if (file.empty() && timeline == nullptr) {
        return nullptr;
    }
    return [=](const Program& program, const std::vector<TracedOp>& trace) -> Result<void> {
        if (timeline != nullptr) {
            *timeline = timeline_bars(program, trace);
        }
        return file.empty() ? Result<void>{} : write_perfetto_trace(file, program, trace);
    };
}

// Simulates, and writes the step for other tools where that is asked for.
ResultOrErrors<StudyOutput> step_output(const SimulateArguments& arguments,
                                        const SimulatedCase& simulated,
                                        const std::function<void(double)>& progress) {
    const Scenario& scenario = simulated.scenario;
    const auto give_up = [](const Error& error) { return unexpected<Errors>(Errors{error}); };
    std::vector<TracedOp> ops;
    TimelineBars timeline;
    const bool page = !arguments.html_file.empty();
    SimulationOptions options;
    options.fold = simulated.fold;
    options.trace = tracing(arguments.trace_file, page ? &timeline : nullptr);
    options.profile_file = arguments.profile_file;
    options.progress = progress;
    auto table = calibrated_step_table(arguments.calibration_file, &scenario);
    if (!table) {
        return unexpected<Errors>(table.error());
    }
    options.step_table = std::move(*table);
    if (!arguments.chakra_folder.empty()) {
        options.inspect = [&ops](const SimulationResult& result, Time) {
            keep_last_step(result, ops);
        };
    }
    const Result<Answer> answer = simulate_scenario(scenario, options);
    if (!answer) {
        return give_up(answer.error());
    }
    if (!arguments.chakra_folder.empty()) {
        const Result<void> written = write_chakra(
            arguments.chakra_folder, "step", lower(scenario.model, scenario.plan), ops);
        if (!written) {
            return give_up(written.error());
        }
    }
    return StudyOutput{.report = step_sections(*answer),
                       .json = json_report(*answer),
                       .provenance = provenance_of(arguments, simulated),
                       .text = console_report(*answer),
                       .html = page ? html_report(*answer, timeline) : std::string{}};
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
    return run_study(
        arguments,
        {.source = simulated->source, .label = "simulating", .study = [&](const auto& progress) {
             return several ? jobs_output(arguments, *simulated, progress)
                            : step_output(arguments, *simulated, progress);
         }});
}

Command describe_simulate() {
    const auto arguments = std::make_shared<SimulateArguments>();
    CommandOption scenario = scenario_option(arguments->file);
    scenario.required = false;  // --from stands in its place
    return {
        .name = "simulate",
        .help = "Simulate a training step of a scenario: step time, MFU, memory",
        .options = joined(
            {{scenario,
              override_option(arguments->overrides),
              {"--from",
               &arguments->result_file,
               "Repeat a result (of simulate --json) in place of a scenario file",
               "RESULT.json"}},
             view_options(*arguments,
                          {.html = "Write a page with pictures: waterfall, ranks over time, "
                                   "memory, links",
                           .csv = "Write the figures as a table of one row",
                           .trace = "Write a Perfetto trace (Chrome's, if it ends with .json) of "
                                    "the roles' first ranks"}),
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
