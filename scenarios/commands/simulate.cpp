// SPDX-License-Identifier: Apache-2.0
#include "scenarios/commands/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/lowering.h"
#include "scenarios/commands/exit_status.h"
#include "scenarios/output_file.h"
#include "scenarios/reader.h"
#include "scenarios/report/chakra_export.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/html_report.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/progress.h"
#include "scenarios/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// Every op of every rank is held in memory: so many at most.
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

}  // namespace

int simulate_command(const SimulateArguments& arguments) {
    ReadOptions read;
    read.overrides = arguments.overrides;
    ResultOrErrors<Scenario> scenario = read_scenario(arguments.file, read);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (!arguments.profile_file.empty()) {
        scenario = on_own_runtime(std::move(*scenario));
    }
    if (!arguments.trace_file.empty()) {
        // Tell an unwritable place now, not after the simulation.
        if (const auto writable = OutputFile::open(arguments.trace_file); !writable) {
            return report_error(writable.error());
        }
    }
    std::unique_ptr<OutputFile> page;
    if (!arguments.html_file.empty()) {
        auto opened = OutputFile::open(arguments.html_file);
        if (!opened) {
            return report_error(opened.error());
        }
        page = std::move(*opened);
    }
    if (const Result<void> small = check_chakra(arguments, *scenario); !small) {
        return report_error(small.error());
    }
    std::vector<TracedOp> ops;
    TimelineBars timeline;
    ProgressBar bar{"simulating"};
    SimulationOptions options;
    options.fold = arguments.fold;
    options.trace_file = arguments.trace_file;
    options.timeline = page ? &timeline : nullptr;
    options.profile_file = arguments.profile_file;
    options.progress = [&bar](double share) { bar.show(share); };
    if (!arguments.chakra_folder.empty()) {
        options.inspect = [&ops](const SimulationResult& result, Time) {
            keep_last_step(result, ops);
        };
    }
    Result<Answer> answer = simulate_scenario(*scenario, options);
    bar.finish();
    if (!answer) {
        Error error = answer.error();
        if (error.where.empty()) {
            error.where = arguments.file;
        }
        return report_error(error);
    }
    if (page) {
        page->stream() << html_report(*answer, timeline);
        if (const Result<void> written = page->commit(); !written) {
            return report_error(written.error());
        }
    }
    if (!arguments.chakra_folder.empty()) {
        const Result<void> written = write_chakra(
            arguments.chakra_folder, "step", lower(scenario->model, scenario->plan), ops);
        if (!written) {
            return report_error(written.error());
        }
    }
    return print_output(arguments.json ? json_report(*answer) : console_report(*answer));
}

Command describe_simulate() {
    const auto arguments = std::make_shared<SimulateArguments>();
    return {
        .name = "simulate",
        .help = "Simulate a training step of a scenario: step time, MFU, memory",
        .options =
            {{"file", &arguments->file, "Scenario file (YAML)", "FILE", true},
             override_option(arguments->overrides),
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
                     "llama3.perfetto-trace"},
        .run = [arguments] { return simulate_command(*arguments); },
    };
}

}  // namespace orrery
