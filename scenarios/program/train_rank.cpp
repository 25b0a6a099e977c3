// SPDX-License-Identifier: Apache-2.0
#include "runtime/trainer.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/train.h"
#include "scenarios/report/render/terminal.h"
#include "scenarios/studies/train/training_run.h"

namespace orrery {
int train_rank(ProcessWorld& world,
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
    const bool speaks = world.rank == 0 && !arguments.quiet;  // rank 0 prints for all
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
