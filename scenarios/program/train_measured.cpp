// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_recorder.h"
#include "scenarios/program/train.h"

namespace orrery {

bool all_well(ProcessWorld& world, const Errors& own, int& status) {
    const bool failed = !own.empty() && own.front().cause != ErrorCause::another_rank;
    const auto teller = first_to_fail(world, failed);
    if (!teller) {
        return true;
    }
    status = *teller == world.rank ? report_errors(own) : kExitUserError;
    first_to_fail(world, false);  // A rank that leaves stops the others, so the report comes first.
    return false;
}

int train_measured(ProcessWorld& world,
                   const Scenario& scenario,
                   Trainer& trainer,
                   const Reports& reports,
                   const TrainArguments& arguments,
                   const CheckpointOnSignal& stop,
                   int& status) {
    OpTimes times{trainer.program()};
    trainer.executor().measure(&times);
    const auto recorder = RunRecorder::start({.folder = arguments.record_folder,
                                              .trace_file = arguments.trace_file,
                                              .scenario = &scenario,
                                              .profile_file = arguments.profile_file},
                                             world,
                                             trainer.executor());
    if (!recorder) {
        return report_error(recorder.error());
    }
    if (const Result<void> done = train(trainer, scenario.plan, scenario.job.training, reports);
        !done) {
        if (stop.signal() != 0) {
            reports.line(fmt::format("stopped after step {} by signal {}; --resume goes on",
                                     trainer.steps_done(),
                                     stop.signal()));
            return kExitSignal + stop.signal();
        }
        // After a missing message the ranks cannot agree on anything.
        const Error error = in_scenario(done.error(), scenario);
        return error.cause == ErrorCause::lost_peer || all_well(world, {error}, status)
                   ? report_error(error)
                   : status;
    }
    if (*recorder) {
        if (const auto written = (*recorder)->finish(); !written) {
            return report_errors(written.error());
        }
    }
    const bool speaks = world.rank == 0 && !arguments.quiet;
    if (status != kExitOk || !speaks) {
        return status;
    }
    const Result<std::string> end =
        measured_end(scenario, trainer, times, arguments.profile_file, arguments.written_profile);
    return end ? print_output(*end) : report_error(end.error());
}

}  // namespace orrery
