// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "runtime/measure/machine_probe.h"
#include "runtime/measure/store_probe.h"
#include "runtime/supervisor/supervisor.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/train.h"
#include "scenarios/report/drill_report.h"
#include "scenarios/studies/campaign/supervised_job.h"
#include "scenarios/studies/train/training_run.h"

namespace orrery {
namespace {

// The command line of a member: this program with the same scenario.
Result<std::vector<std::string>> member_command(const TrainArguments& arguments) {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) {
        return fail("", "the program can't find itself to start its ranks: " + error.message());
    }
    std::vector<std::string> command{self.string(), "train", arguments.file};
    for (const std::string& change : arguments.overrides) {
        command.insert(command.end(), {"--set", change});
    }
    if (!arguments.device.empty()) {
        command.insert(command.end(), {"--device", arguments.device});
    }
    if (arguments.quiet) {
        command.emplace_back("--quiet");
    }
    return command;
}

// Places the nodes on the hosts.
Result<void> place(SupervisedJob& job, const TrainArguments& arguments) {
    Result<Places> places = read_places(arguments.hosts, arguments.launch, job.nodes);
    if (!places) {
        return unexpected<Error>(places.error());
    }
    if (!places->here() && job.keeps_copies) {
        return fail("--hosts",
                    "copies in memories are kept among the nodes of one machine",
                    "recovery.policies without peer_checkpoint and elastic");
    }
    job.places = std::move(*places);
    return {};
}

}  // namespace

int supervise_training(const TrainArguments& arguments, const Scenario& scenario) {
    ResultOrErrors<SupervisedJob> job = supervised_job(scenario);
    if (!job) {
        Errors errors = job.error();
        for (Error& error : errors) {
            const bool placed = error.where.find(':') != std::string::npos;
            error.where = placed ? error.where : where_of_path(*scenario.document, error.where);
        }
        return report_errors(errors);
    }
    const auto command = member_command(arguments);
    if (!command) {
        return report_error(command.error());
    }
    job->command = *command;
    job->event_file = arguments.event_file;
    if (Result<void> placed = place(*job, arguments); !placed) {
        return report_error(placed.error());
    }
    const auto claim = claim_run(scenario.job.training, arguments);
    if (!claim) {
        return report_errors(claim.error());
    }
    job->resume = arguments.resume;
    // Measured before anything else runs. The time grows with the number of connections.
    const auto all = static_cast<double>(job->shape.slots);
    if (const Result<Time> met = probe_meeting(job->shape.slots); met && all > 1) {
        job->predicted_meeting_s = [all, seconds = met->seconds()](std::uint32_t processes) {
            return seconds * processes * (processes - 1.0) / (all * (all - 1));
        };
    }
    // An unwritable store is reported at the first checkpoint.
    const Result<StoreTimes> store = probe_store(
        job->checkpoint_folder, {.model = scenario.model}, state_bytes_of_rank(scenario));
    if (!arguments.quiet) {
        job->line = [](const std::string& text) { print_output(text + "\n"); };
    }
    const auto say = job->line ? job->line : [](const std::string&) {};
    if (const Errors kept = clear_claim(*claim, say); !kept.empty()) {
        return report_errors(kept);
    }
    const Result<SupervisedRun> run = supervise(*job);
    if (!run) {
        return report_error(run.error());
    }
    if (run->status != 0 || arguments.quiet) {
        return run->status;
    }
    const StartTimes first = run->starts.empty() ? StartTimes{} : run->starts.front();
    const std::vector<RecoveryExchange> foretold =
        predicted_log(scenario, *job, run->step_s, first, store ? *store : StoreTimes{});
    return print_output(drill_report(scenario,
                                     *run,
                                     incidents_of(run->log),
                                     incidents_of(foretold),
                                     predicted_detection_s(scenario, *job)));
}

}  // namespace orrery
