// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/train.h"

#include <cmath>
#include <csignal>
#include <memory>

#include "runtime/checkpoint_on_signal.h"
#include "runtime/supervisor/member.h"
#include "runtime/world.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/command_words.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/report/render/terminal.h"
#include "scenarios/studies/train/training_run.h"

namespace orrery {
namespace {

// Starts one process per rank, each with the same command without --nproc.
int start_ranks(TrainArguments arguments) {
    const std::uint32_t ranks = arguments.num_processes;
    const Result<int> status =
        run_ranks(ranks, command_words("train", train_options(arguments), {"--nproc"}));
    return status ? *status : report_error(status.error());
}

}  // namespace

ResultOrErrors<RunClaim> claim_run(const TrainingJob& job, const TrainArguments& arguments) {
    return RunClaim::make(job,
                          arguments.resume      ? RunBegin::resume
                          : arguments.overwrite ? RunBegin::overwrite
                                                : RunBegin::anew);
}

int train_command(const TrainArguments& arguments) {
    if (Member::is_one()) {
        return train_member(arguments);
    }
    ResultOrErrors<Scenario> scenario =
        read_scenario(arguments.file, {.overrides = arguments.overrides, .for_training = true});
    if (!scenario) {
        return report_errors(scenario.error());
    }
    const Result<Tokens> tokens = dataset_of(*scenario);
    if (!tokens) {
        return report_error(tokens.error());
    }
    if (arguments.resume && arguments.overwrite) {
        return report_error({"--overwrite", "begins anew, and --resume goes on", "one of them"});
    }
    if (arguments.resume && scenario->job.training.checkpoint_folder.empty()) {
        return report_error({"--resume",
                             "the scenario has no job.checkpoint_folder to resume from",
                             "the folder that the run was saved in"});
    }
    const bool starts = arguments.num_processes > 1;
    const Result<Place> place = starts ? Place{0, arguments.num_processes} : find_place();
    if (!place) {
        return report_error(place.error());
    }
    const Result<void> fits =
        arguments.supervise ? Result<void>{} : check_ranks(*scenario, place->num_ranks);
    if (!fits) {
        return place->rank == 0 ? report_error(fits.error()) : kExitUserError;
    }
    if (!arguments.hosts.empty() && !arguments.supervise) {
        return report_error({"--hosts",
                             "is of a supervised run",
                             "--supervise, or torchrun, srun or mpirun to start the ranks"});
    }
    if (place->rank == 0 && !starts && !arguments.quiet) {
        note_faults_left_out(*scenario,
                             arguments.supervise ? FaultUser::drill : FaultUser::real_run);
    }
    if (arguments.supervise) {
        return supervise_training(arguments, *scenario);
    }
    if (starts) {
        return start_ranks(arguments);
    }
    const Result<std::string> decided = choose_device(*scenario, arguments.device);
    if (!decided) {
        return report_error(decided.error());
    }
    if (place->rank == 0 && !decided->empty()) {
        print_note(*decided);
    }
    // A file beyond the size limit is then an error like a full disk and does not end the process.
    std::signal(SIGXFSZ, SIG_IGN);
    CheckpointOnSignal stop{scenario->job.training};
    const double patience = scenario->job.training.distributed_timeout.seconds();
    auto world = join_world(std::chrono::milliseconds{std::llround(1e3 * patience)});
    return world ? train_rank(*world, *scenario, *tokens, arguments, stop)
                 : report_error(world.error());
}

Command describe_train() {
    const auto arguments = std::make_shared<TrainArguments>();
    return {
        .name = "train",
        .group = CommandGroup::train,
        .help = "Train a scenario's model for real, on this machine's GPUs or CPU",
        .options = train_options(*arguments),
        .examples = {"train scenarios/train-tiny-cpu.yaml --set job.steps=40",
                     "train scenarios/train-tiny-cpu-4.yaml --nproc 4",
                     "train scenarios/drill-cpu-4.yaml --supervise --events events.jsonl"},
        .run = [arguments] { return train_command(*arguments); },
    };
}

}  // namespace orrery
