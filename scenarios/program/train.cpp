// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/train.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <utility>

#include "runtime/data/tokenize.h"
#include "runtime/data/tokenizer.h"
#include "runtime/make_executor.h"
#include "runtime/state/checkpoint_choice.h"
#include "runtime/state/training_state.h"
#include "runtime/supervisor/member.h"
#include "runtime/trainable.h"
#include "runtime/trainer.h"
#include "runtime/world.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_recorder.h"
#include "scenarios/program/train_member.h"
#include "scenarios/program/train_supervised.h"
#include "scenarios/studies/measure/measured_step.h"

namespace orrery {
namespace {

Error placed(Error error, const Scenario& scenario) {
    if (error.where == "job.dataset") {
        error.where = scenario.job.dataset_where;
    }
    return error;
}

// Ranks that the scenario asks for, against the ranks that there are.
Result<void> check_world(const Scenario& scenario, std::uint32_t num_ranks) {
    const auto ranks = static_cast<std::uint32_t>(scenario.cluster.num_ranks());
    if (ranks == num_ranks) {
        return {};
    }
    return fail(scenario.cluster_where,
                fmt::format("the cluster has {} devices, and {} {}",
                            ranks,
                            num_ranks,
                            num_ranks == 1 ? "process trains" : "processes train"),
                ranks == 1 ? "run it without --nproc, or another cluster"
                           : fmt::format("orrery train --nproc {}, or another cluster", ranks));
}

// Writes the measured times as a profile, if one is wanted.
Result<void> write_profile(const OpTimes& times,
                           const Scenario& scenario,
                           const std::string& device,
                           const std::string& path) {
    if (path.empty()) {
        return {};
    }
    auto file = OutputFile::open(path);
    if (!file) {
        return unexpected<Error>(file.error());
    }
    (*file)->stream() << profile_csv(
        times.profile(scenario.device.name),
        fmt::format("Kernels of {} as orrery train ran them on {}", scenario.name, device));
    return (*file)->commit();
}

// What a run begins with where that is not random: weights of a file.
Errors load_weights(Trainer& trainer, const Scenario& scenario) {
    const TrainingJob& job = scenario.job.training;
    if (job.initial_weights.empty()) {
        return {};
    }
    const auto done = import_weights(trainer.executor(), scenario.model, job.initial_weights);
    return done ? Errors{} : done.error();
}

// Goes on from the latest checkpoint that is whole. One that is torn or changed is passed over, and
// the rank that sees it says so; one of another run is an error.
Errors resume(Trainer& trainer, World& world, const std::filesystem::path& folder) {
    const auto candidates = resumable(folder);
    if (first_to_fail(world, !candidates)) {
        return {candidates ? another_rank_failed() : candidates.error()};
    }
    for (std::size_t i = 0;; ++i) {
        const std::filesystem::path& checkpoint = (*candidates)[i];
        const Result<void> done = trainer.resume(checkpoint);
        if (done) {
            return {};
        }
        const bool own = done.error().cause != ErrorCause::another_rank;
        const bool fatal = i + 1 == candidates->size() || (own && verify_checkpoint(checkpoint));
        const auto teller = first_to_fail(world, own);
        if (first_to_fail(world, fatal)) {
            return {done.error()};
        }
        if (teller == world.rank) {
            fmt::print(stderr, "orrery: passes over a checkpoint: {}\n", done.error().to_string());
        }
    }
}

// What texts from the model need; the rank that `keeps` puts a copy of the encoding to the
// checkpoints.
Errors prepare(const Scenario& scenario,
               const Tokens& tokens,
               const Result<TrainingLog>& log,
               bool keeps,
               Reports& reports) {
    const TrainingJob& job = scenario.job.training;
    if (!log) {
        return {log.error()};
    }
    const Result<Tokenizer> found = tokenizer_of(job, tokens);
    if (!found) {
        return {found.error()};
    }
    reports.tokenizer = *found;
    if (job.sample_interval > 0) {
        for (const std::int32_t id : found->encode(job.sample_prompt)) {
            if (id >= scenario.model.vocab_size) {
                return {{"job.sample_prompt",
                         "has tokens that the model's vocabulary has not",
                         "another text, or a larger model.vocab_size"}};
            }
        }
    }
    // A folder that can't be is told before the first step, not at the first checkpoint.
    if (keeps && !job.checkpoint_folder.empty()) {
        Result<void> kept = disk().create_folder(job.checkpoint_folder);
        kept = kept && !found->by_bytes() ? found->save(job.checkpoint_folder) : kept;
        if (!kept) {
            return {kept.error()};
        }
    }
    return {};
}

std::string resumed(std::int64_t done, std::int64_t asked) {
    return done < asked ? fmt::format("resumed after step {}", done)
                        : fmt::format(
                              "{} steps are done, and job.steps asks for {}: nothing is "
                              "left to train",
                              done,
                              asked);
}

// What rank 0 tells at the end.
int finish(const Scenario& scenario,
           Trainer& trainer,
           const OpTimes& times,
           const TrainArguments& arguments) {
    const auto kinds = compare_kernels(scenario, trainer.program(), times, arguments.profile_file);
    if (!kinds) {
        return report_error(kinds.error());
    }
    const Result<void> written =
        write_profile(times, scenario, trainer.executor().device_name(), arguments.written_profile);
    if (!written) {
        return report_error(written.error());
    }
    std::string text;
    for (const std::string& note : trainer.executor().notes()) {
        text += note + "\n";
    }
    return print_output(text + measured_report(*kinds));
}

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
        // After a message that did not come the ranks can't agree any more.
        const Error error = placed(done.error(), scenario);
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
    return status == kExitOk && speaks ? finish(scenario, trainer, times, arguments) : status;
}

int train_as(World& world,
             const Scenario& scenario,
             const Tokens& tokens,
             const TrainArguments& arguments) {
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
    if (!all_well(world, created ? Errors{} : Errors{placed(created.error(), scenario)}, status)) {
        return status;
    }
    Trainer& trainer = **created;
    const bool speaks = world.rank == 0 && !arguments.quiet;  // rank 0 for all
    const auto line = [&](const std::string& text) {
        status = speaks && status == kExitOk ? print_output(text + "\n") : status;
    };
    line(fmt::format(
        "{}: {} parameters, {} tokens of data, {} of tensors a rank{}",
        scenario.name,
        num_parameters(scenario.model),
        tokens.size(),
        to_short_text(Bytes{trainer.executor().plan().bytes()}),
        job.device == DeviceChoice::cuda ? ", on " + trainer.executor().device_name() : ""));
    const Errors begun = arguments.resume ? resume(trainer, world, job.checkpoint_folder)
                                          : load_weights(trainer, scenario);
    if (!all_well(world, begun, status)) {
        return status;
    }
    if (arguments.resume) {
        line(resumed(trainer.steps_done(), job.steps));
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
    if (!all_well(world, prepare(scenario, tokens, log, world.rank == 0, reports), status)) {
        return status;
    }
    return train_measured(world, scenario, trainer, reports, arguments, status);
}

// One process a rank, each of which runs the same command without --nproc.
int start_ranks(const TrainArguments& arguments) {
    std::vector<std::string> again{"train", arguments.file};
    for (const std::string& change : arguments.overrides) {
        again.insert(again.end(), {"--set", change});
    }
    const auto pass_on = [&](const char* option, const std::string& value) {
        if (!value.empty()) {
            again.insert(again.end(), {option, value});
        }
    };
    pass_on("--profile", arguments.profile_file);
    pass_on("--record", arguments.record_folder);
    pass_on("--trace", arguments.trace_file);
    pass_on("--write-profile", arguments.written_profile);
    pass_on("--device", arguments.device);
    if (arguments.resume) {
        again.emplace_back("--resume");
    }
    if (arguments.overwrite) {
        again.emplace_back("--overwrite");
    }
    if (arguments.quiet) {
        again.emplace_back("--quiet");
    }
    const Result<int> status = run_ranks(arguments.num_processes, again);
    return status ? *status : report_error(status.error());
}

}  // namespace

ResultOrErrors<RunClaim> claim_run(const TrainingJob& job, const TrainArguments& arguments) {
    return RunClaim::make(job,
                          arguments.resume      ? RunBegin::resume
                          : arguments.overwrite ? RunBegin::overwrite
                                                : RunBegin::anew);
}

Errors clear_claim(const RunClaim& claim, const std::function<void(const std::string&)>& line) {
    for (const std::string& one : claim.earlier()) {
        line("overwrites " + one);
    }
    const Result<void> cleared = claim.clear();
    return cleared ? Errors{} : Errors{cleared.error()};
}

Result<void> choose_device(Scenario& scenario, const std::string& asked, bool speaks) {
    DeviceChoice& device = scenario.job.training.device;
    if (!asked.empty()) {
        const auto choice = device_choice(asked);
        if (!choice) {
            return fail("--device", asked + " is no device", "auto, cpu or cuda");
        }
        device = *choice;
    }
    const DecidedDevice decided = decide_device(device, scenario.device.generation != "cpu");
    device = decided.device;
    if (device == DeviceChoice::cpu) {
        if (Result<void> enough = check_cpu_ranks(scenario.cluster.num_ranks()); !enough) {
            return enough;
        }
    } else if (Result<void> known = check_gpu_job(scenario.model, scenario.plan); !known) {
        return known;
    }
    if (speaks && !decided.why.empty()) {
        fmt::print(stderr, "orrery: {}\n", decided.why);
    }
    return {};
}

Result<Tokens> dataset_of(const Scenario& scenario) {
    Result<Tokens> tokens = load_tokens(scenario.job.training.dataset);
    if (!tokens) {
        Error error = tokens.error();
        error.what = error.where + " " + error.what;
        error.where = scenario.job.dataset_where;
        return unexpected<Error>(std::move(error));
    }
    if (tokens->vocabulary() > scenario.model.vocab_size) {
        return fail(scenario.job.dataset_where,
                    fmt::format("the dataset has a vocabulary of {} tokens, more than "
                                "model.vocab_size {}",
                                tokens->vocabulary(),
                                scenario.model.vocab_size),
                    "a larger vocab_size");
    }
    return tokens;
}

Result<Tokenizer> tokenizer_of(const TrainingJob& job, const Tokens& tokens) {
    const std::filesystem::path folder = job.dataset.front().parent_path();
    const bool encoded = job.dataset.size() == 1 && is_token_file(job.dataset.front());
    Result<Tokenizer> found =
        encoded ? Tokenizer::find({{folder.empty() ? "." : folder}}) : Tokenizer{};
    const bool fits = found && found->vocabulary() == tokens.vocabulary();
    return !found || fits ? found : Tokenizer{};  // of other data in the folder
}

int train_command(const TrainArguments& arguments) {
    if (Member::is_one()) {
        return train_member(arguments);
    }
    ReadOptions read;
    read.overrides = arguments.overrides;
    read.for_training = true;
    ResultOrErrors<Scenario> scenario = read_scenario(arguments.file, read);
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
        arguments.supervise ? Result<void>{} : check_world(*scenario, place->num_ranks);
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
    if (const Result<void> decided = choose_device(*scenario, arguments.device, place->rank == 0);
        !decided) {
        return report_error(decided.error());
    }
    // A file that grows too large is an error like a disk that is full, and ends no process.
    std::signal(SIGXFSZ, SIG_IGN);
    const double patience = scenario->job.training.distributed_timeout.seconds();
    Result<World> world = join_world(std::chrono::milliseconds{std::llround(1e3 * patience)});
    return world ? train_as(*world, *scenario, *tokens, arguments) : report_error(world.error());
}

Command describe_train() {
    const auto arguments = std::make_shared<TrainArguments>();
    const CommandOption profile{"--export-profile",
                                &arguments->written_profile,
                                "Write the measured kernel times of rank 0 (CSV)",
                                "FILE"};
    return {
        .name = "train",
        .help = "Train a scenario's model for real, on this machine's GPUs or CPU",
        .options =
            {{"file", &arguments->file, "Scenario file (YAML) with job.dataset", "FILE", true},
             override_option(arguments->overrides),
             processes_option(arguments->num_processes,
                              "Start N processes here, one a device of the cluster"),
             {"--profile",
              &arguments->profile_file,
              "Measured times (CSV) that the prediction beside the measured times uses",
              "FILE"},
             device_option(arguments->device,
                           "auto (a GPU for a cluster of GPUs, if one answers), cpu or cuda"),
             profile,
             old_option("--write-profile", "--export-profile", profile),
             {"--record",
              &arguments->record_folder,
              "Write down when every rank ran every op, for orrery compare and calibrate",
              "FOLDER"},
             {"--trace",
              &arguments->trace_file,
              "Write a Perfetto trace of a measured step, with the predicted one above it",
              "FILE"},
             {"-q,--quiet", &arguments->quiet, "Print nothing but errors"},
             {"--resume",
              &arguments->resume,
              "Go on after the latest checkpoint in job.checkpoint_folder"},
             {"--overwrite",
              &arguments->overwrite,
              "Delete the checkpoints, log and curves of an earlier run, and begin anew"},
             {"--supervise",
              &arguments->supervise,
              "Start a process for each node, watch them, and recover by the scenario's policies"},
             {"--hosts",
              &arguments->hosts,
              "Machines of the supervised nodes, and how many each has: one:2,two:2",
              "HOSTS"},
             {"--launch",
              &arguments->launch,
              "What runs a shell command on one of them [ssh -o BatchMode=yes {host}]",
              "WORDS"},
             {"--events",
              &arguments->event_file,
              "Write what a supervisor saw and ordered (a JSON object a line)",
              "FILE"}},
        .examples = {"train scenarios/train-tiny-cpu.yaml --set job.steps=40",
                     "train scenarios/train-tiny-cpu-4.yaml --nproc 4",
                     "train scenarios/drill-cpu-4.yaml --supervise --events events.jsonl"},
        .run = [arguments] { return train_command(*arguments); },
    };
}

}  // namespace orrery
