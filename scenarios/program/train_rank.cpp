// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/train_rank.h"

#include <fmt/format.h>

#include "runtime/trainer.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_recorder.h"
#include "scenarios/report/terminal.h"
#include "scenarios/studies/train/training_run.h"

namespace orrery {
namespace {

// Whether all ranks are well; if not, the first that isn't tells why, and `status` is what to exit
// with.
bool all_well(World& world, const Errors& own, int& status) {
    const bool failed = !own.empty() && own.front().cause != ErrorCause::another_rank;
    const auto teller = first_to_fail(world, failed);
    if (!teller) {
        return true;
    }
    status = *teller == world.rank ? report_errors(own) : kExitUserError;
    first_to_fail(world, false);  // who leaves has the others stopped: not before it is told
    return false;
}

// The steps, with the time of every op; `reports` and the files of the run are ready. `status` is
// what lines of the reports leave, too.
int train_measured(World& world,
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
        // After a message that did not come the ranks can't agree any more.
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

}  // namespace

int train_rank(World& world,
               const Scenario& scenario,
               const Tokens& tokens,
               const TrainArguments& arguments,
               CheckpointOnSignal& stop) {
    const TrainingJob& job = scenario.job.training;
    int status = kExitOk;
    const auto claim = claim_run(world.rank == 0 ? job : TrainingJob{}, arguments);
    if (!all_well(world, claim ? Errors{} : claim.error(), status)) {
        return status;
    }
    auto created = Trainer::create(scenario.model,
                                   scenario.plan,
                                   job,
                                   tokens,
                                   world.transport.get(),
                                   arguments.resume ? FirstWeights::stored : FirstWeights::drawn);
    if (!all_well(
            world, created ? Errors{} : Errors{in_scenario(created.error(), scenario)}, status)) {
        return status;
    }
    Trainer& trainer = **created;
    const bool speaks = world.rank == 0 && !arguments.quiet;  // rank 0 for all
    const auto line = [&](const std::string& text) {
        status = speaks && status == kExitOk ? print_output(text + "\n") : status;
    };
    line(first_line(scenario, trainer, tokens));
    const Errors begun = arguments.resume
                             ? resume_latest(trainer, world, job.checkpoint_folder, print_note)
                             : load_weights(trainer, scenario);
    if (!all_well(world, begun, status)) {
        return status;
    }
    if (arguments.resume) {
        line(resumed_line(trainer.steps_done(), job.steps));
    }
    if (trainer.steps_done() >= job.steps) {
        return status;
    }
    if (!all_well(world, clear_claim(*claim, line), status)) {
        return status;
    }
    Reports reports{.line = line};
    Result<TrainingLog> log = TrainingLog::open(world.rank == 0 ? job : TrainingJob{}, line);
    reports.log = log ? &*log : nullptr;
    if (!all_well(
            world, prepare_reports(scenario, tokens, log, world.rank == 0, reports), status)) {
        return status;
    }
    reports.before_step = [&stop](Trainer& t) { return stop.before_step(t); };
    return train_measured(world, scenario, trainer, reports, arguments, stop, status);
}

}  // namespace orrery
