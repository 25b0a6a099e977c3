// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/lowering.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/format/provenance/stored_result.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/page_file.h"
#include "scenarios/report/chakra_export.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/html_report.h"
#include "scenarios/report/jobs_report.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/perfetto_trace.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"
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

// What is simulated, and how it is told where it comes from.
struct SimulatedCase {
    Scenario scenario;
    std::string source;  // what errors without a place are of
    bool fold = true;
};

constexpr const char* kNoFold = "no_fold";

// The scenario of a result, and the options that decided it.
ResultOrErrors<SimulatedCase> repeated_case(const SimulateArguments& arguments) {
    const std::string& file = arguments.result_file;
    const auto give_up = [&](std::string what, std::string hint) {
        return unexpected<Errors>(Errors{{file, std::move(what), std::move(hint)}});
    };
    const auto stored = read_stored_result(file);
    if (!stored) {
        return unexpected<Errors>(stored.error());
    }
    if (stored->command != "simulate") {
        return give_up(fmt::format("is a result of orrery {}", stored->command),
                       "--from repeats results of orrery simulate");
    }
    if (!stored->inputs.empty()) {
        const InputFile& profile = stored->inputs.front();
        if (arguments.profile_file.empty()) {
            return give_up(fmt::format("was made with the profile {}", profile.file),
                           fmt::format("--profile {}", profile.file));
        }
        if (file_fingerprint(arguments.profile_file) != profile.hash) {
            fmt::print(stderr,
                       "{}: note: {} is not the profile that it was made with\n",
                       file,
                       arguments.profile_file);
        }
    }
    for (const std::string& sentence : differences_from(*stored)) {
        fmt::print(stderr, "{}: note: {}\n", file, sentence);
    }
    auto scenario = scenario_of_result(*stored, file, arguments.overrides);
    if (!scenario) {
        return unexpected<Errors>(scenario.error());
    }
    const bool no_fold = std::ranges::any_of(
        stored->options, [](const auto& option) { return option.first == kNoFold; });
    return SimulatedCase{
        .scenario = std::move(*scenario), .source = file, .fold = arguments.fold && !no_fold};
}

ResultOrErrors<SimulatedCase> simulated_case(const SimulateArguments& arguments) {
    if (arguments.file.empty() == arguments.result_file.empty()) {
        return unexpected<Errors>(
            Errors{{"command line",
                    arguments.file.empty() ? "a scenario file is missing"
                                           : "a scenario file and --from are given",
                    "orrery simulate scenarios/laptop-2gpu.yaml, or --from RESULT.json"}});
    }
    if (arguments.file.empty()) {
        return repeated_case(arguments);
    }
    auto scenario =
        read_scenario(arguments.file, {.overrides = arguments.overrides, .several_jobs = true});
    if (!scenario) {
        return unexpected<Errors>(scenario.error());
    }
    return SimulatedCase{
        .scenario = std::move(*scenario), .source = arguments.file, .fold = arguments.fold};
}

Provenance made_of(const SimulateArguments& arguments, const SimulatedCase& simulated) {
    Provenance provenance = provenance_of("simulate", simulated.scenario);
    if (!simulated.fold) {
        provenance.add_option(kNoFold, "true");
    }
    return provenance.add_input(arguments.profile_file);
}

// Options that look into the step of one job.
Result<void> check_jobs(const SimulateArguments& arguments) {
    for (const auto& [option, value] : {std::pair{"--trace", &arguments.trace_file},
                                        {"--export-chakra", &arguments.chakra_folder},
                                        {"--profile", &arguments.profile_file}}) {
        if (!value->empty()) {
            return fail(option,
                        "looks into one job, and the scenario has several",
                        "a scenario with that job's model and plan");
        }
    }
    return {};
}

int simulate_several(const SimulateArguments& arguments, const SimulatedCase& simulated) {
    if (const Result<void> possible = check_jobs(arguments); !possible) {
        return report_error(possible.error());
    }
    auto page = PageFile::open(arguments.html_file);
    if (!page) {
        return report_error(page.error());
    }
    ProgressBar bar{"simulating"};
    const Result<JobsAnswer> answer =
        simulate_jobs(simulated.scenario,
                      {.fold = simulated.fold, .progress = [&](double share) { bar.show(share); }});
    bar.finish();
    if (!answer) {
        Error error = answer.error();
        if (error.where.empty()) {
            error.where = simulated.source;
        }
        return report_error(error);
    }
    const Provenance provenance = made_of(arguments, simulated);
    if (page->wanted()) {
        if (const auto written = page->write(jobs_page(*answer), provenance); !written) {
            return report_error(written.error());
        }
    }
    return print_output(arguments.json ? with_provenance(jobs_json(*answer), provenance)
                                       : jobs_report(*answer));
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

}  // namespace

int simulate_command(const SimulateArguments& arguments) {
    ResultOrErrors<SimulatedCase> simulated = simulated_case(arguments);
    if (!simulated) {
        return report_errors(simulated.error());
    }
    Scenario& scenario = simulated->scenario;
    if (!scenario.jobs.empty()) {
        return simulate_several(arguments, *simulated);
    }
    if (!arguments.profile_file.empty()) {
        scenario = on_own_runtime(std::move(scenario));
    }
    if (!arguments.trace_file.empty()) {
        // Tell an unwritable place now, not after the simulation.
        if (const auto writable = OutputFile::open(arguments.trace_file); !writable) {
            return report_error(writable.error());
        }
    }
    auto page = PageFile::open(arguments.html_file);
    if (!page) {
        return report_error(page.error());
    }
    if (const Result<void> small = check_chakra(arguments, scenario); !small) {
        return report_error(small.error());
    }
    std::vector<TracedOp> ops;
    TimelineBars timeline;
    ProgressBar bar{"simulating"};
    SimulationOptions options;
    options.fold = simulated->fold;
    options.trace = tracing(arguments.trace_file, page->wanted() ? &timeline : nullptr);
    options.profile_file = arguments.profile_file;
    options.progress = [&bar](double share) { bar.show(share); };
    if (!arguments.chakra_folder.empty()) {
        options.inspect = [&ops](const SimulationResult& result, Time) {
            keep_last_step(result, ops);
        };
    }
    Result<Answer> answer = simulate_scenario(scenario, options);
    bar.finish();
    if (!answer) {
        Error error = answer.error();
        if (error.where.empty()) {
            error.where = simulated->source;
        }
        return report_error(error);
    }
    const Provenance provenance = made_of(arguments, *simulated);
    if (page->wanted()) {
        const auto written = page->write(html_report(*answer, timeline), provenance);
        if (!written) {
            return report_error(written.error());
        }
    }
    if (!arguments.chakra_folder.empty()) {
        const Result<void> written = write_chakra(
            arguments.chakra_folder, "step", lower(scenario.model, scenario.plan), ops);
        if (!written) {
            return report_error(written.error());
        }
    }
    return print_output(arguments.json ? with_provenance(json_report(*answer), provenance)
                                       : console_report(*answer));
}

Command describe_simulate() {
    const auto arguments = std::make_shared<SimulateArguments>();
    return {
        .name = "simulate",
        .help = "Simulate a training step of a scenario: step time, MFU, memory",
        .options =
            {{"file", &arguments->file, "Scenario file (YAML)", "FILE"},
             override_option(arguments->overrides),
             {"--from",
              &arguments->result_file,
              "Repeat a result (of simulate --json) in place of a scenario file",
              "RESULT.json"},
             {"--json", &arguments->json, "Print one JSON object instead of a report"},
             {"--trace",
              &arguments->trace_file,
              "Write a Perfetto trace (Chrome's, if it ends with .json) of the roles' first ranks",
              "FILE"},
             {"--html",
              &arguments->html_file,
              "Write a page with pictures: waterfall, ranks over time, memory, links",
              "FILE"},
             {"--export-chakra",
              &arguments->chakra_folder,
              "Write the step as Chakra execution traces, which ASTRA-sim reads",
              "FOLDER"},
             {"--profile",
              &arguments->profile_file,
              "Measured times (CSV), as orrery profile and calibrate write them",
              "FILE"},
             {"!--no-fold",
              &arguments->fold,
              "Simulate every rank on its own (slow; the answer is the same)"}},
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
