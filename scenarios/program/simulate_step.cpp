// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "models/lowering/lowering.h"
#include "scenarios/program/calibration_file.h"
#include "scenarios/program/simulate.h"
#include "scenarios/report/render/json_report.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/report/trace/chakra_export.h"
#include "scenarios/report/trace/perfetto_trace.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// Largest number of ops of all ranks, which are held in memory.
constexpr std::int64_t kChakraOpsMax = 20'000'000;

// Takes the ops of the last step of all ranks from the running simulation.
void keep_last_step(const SimulationResult& result, std::vector<TracedOp>& ops) {
    std::uint32_t last = 0;
    for (const TracedOp& op : result.trace) {
        last = std::max(last, op.step);
    }
    std::ranges::copy_if(
        result.trace, std::back_inserter(ops), [&](const TracedOp& op) { return op.step == last; });
}

// Draws the trace for a page, and writes it if `file` is not empty.
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
    return StudyOutput{.report = step_sections(*answer, page ? &timeline : nullptr),
                       .json = json_report(*answer),
                       .provenance = provenance_of(arguments, simulated)};
}

}  // namespace orrery
