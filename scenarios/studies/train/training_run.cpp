// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/train/training_run.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/data/tokenize.h"
#include "runtime/make_executor.h"
#include "runtime/state/checkpoint_choice.h"
#include "runtime/state/training_state.h"
#include "runtime/trainable.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/studies/measure/measured_step.h"

namespace orrery {
namespace {

// Writes the measured times as a profile if a file is named.
Result<void> write_kernel_profile(const OpTimes& times,
                                  const Scenario& scenario,
                                  const std::string& device,
                                  const std::string& path) {
    if (path.empty()) {
        return {};
    }
    const std::string made_of =
        fmt::format("Kernels of {} as orrery train ran them on {}", scenario.name, device);
    return OutputFile::write(path, profile_csv(times.profile(scenario.device.name), made_of));
}

}  // namespace

Error in_scenario(Error error, const Scenario& scenario) {
    if (error.where == "job.dataset") {
        error.where = scenario.job.dataset_where;
    }
    return error;
}

Result<Tokens> dataset_of(const Scenario& scenario) {
    Result<Tokens> tokens = load_tokens(scenario.job.training.dataset);
    if (!tokens) {
        Error error = tokens.error();
        error.what = error.where + ": " + error.what;
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
    return !found || fits ? found : Tokenizer{};  // otherwise it is of other data
}

Result<std::string> choose_device(Scenario& scenario, const std::string& asked) {
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
        if (const Result<void> enough = check_cpu_ranks(scenario.cluster.num_ranks()); !enough) {
            return unexpected<Error>(enough.error());
        }
    } else if (const Result<void> known = check_gpu_job(scenario.model, scenario.plan); !known) {
        return unexpected<Error>(known.error());
    }
    return decided.why;
}

Result<void> check_ranks(const Scenario& scenario, std::uint32_t num_ranks) {
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

Errors clear_claim(const RunClaim& claim, const TextSink& line) {
    for (const std::string& one : claim.earlier()) {
        line("overwrites " + one);
    }
    const Result<void> cleared = claim.clear();
    return cleared ? Errors{} : Errors{cleared.error()};
}

std::string first_line(const Scenario& scenario, Trainer& trainer, const Tokens& tokens) {
    const bool on_gpu = scenario.job.training.device == DeviceChoice::cuda;
    return fmt::format("{}: {} parameters, {} tokens of data, {} of tensors a rank{}",
                       scenario.name,
                       num_parameters(scenario.model),
                       tokens.size(),
                       to_short_text(Bytes{trainer.executor().plan().bytes()}),
                       on_gpu ? ", on " + trainer.executor().device_name() : "");
}

Errors load_weights(Trainer& trainer, const Scenario& scenario) {
    const TrainingJob& job = scenario.job.training;
    if (job.initial_weights.empty()) {
        return {};
    }
    const auto done = import_weights(trainer.executor(), scenario.model, job.initial_weights);
    return done ? Errors{} : done.error();
}

Errors resume_latest(Trainer& trainer,
                     ProcessWorld& world,
                     const std::filesystem::path& folder,
                     const TextSink& note) {
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
            note("passes over a checkpoint: " + done.error().to_string());
        }
    }
}

std::string resumed_line(std::int64_t done, std::int64_t asked) {
    return done < asked ? fmt::format("resumed after step {}", done)
                        : fmt::format(
                              "{} steps are done, and job.steps asks for {}: nothing is "
                              "left to train",
                              done,
                              asked);
}

Errors prepare_reports(const Scenario& scenario,
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
    // An unusable folder is reported before the first step instead of at the first checkpoint.
    if (keeps && !job.checkpoint_folder.empty()) {
        Result<void> kept = disk().create_folder(job.checkpoint_folder);
        kept = kept && !found->by_bytes() ? found->save(job.checkpoint_folder) : kept;
        if (!kept) {
            return {kept.error()};
        }
    }
    return {};
}

Result<std::string> measured_end(const Scenario& scenario,
                                 Trainer& trainer,
                                 const OpTimes& times,
                                 const std::string& profile_file,
                                 const std::string& written_profile) {
    const auto kinds = compare_kernels(scenario, trainer.program(), times, profile_file);
    if (!kinds) {
        return unexpected<Error>(kinds.error());
    }
    const Result<void> written =
        write_kernel_profile(times, scenario, trainer.executor().device_name(), written_profile);
    if (!written) {
        return unexpected<Error>(written.error());
    }
    std::string text;
    for (const std::string& note : trainer.executor().notes()) {
        text += note + "\n";
    }
    return text + measured_report(*kinds);
}

}  // namespace orrery
