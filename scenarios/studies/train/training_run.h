// SPDX-License-Identifier: Apache-2.0
// The parts of a real training between the scenario and the Trainer: device, data, encoding, what a
// run begins with, and the measured kernels at its end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "engine/base/result.h"
#include "runtime/data/token_file.h"
#include "runtime/data/tokenizer.h"
#include "runtime/measure/op_times.h"
#include "runtime/state/run_claim.h"
#include "runtime/trainer.h"
#include "runtime/world.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

using TextSink = std::function<void(const std::string&)>;

// Errors of the data stand at the scenario's job.dataset.
Error in_scenario(Error error, const Scenario& scenario);
// Tokens that go with the model's vocabulary.
Result<Tokens> dataset_of(const Scenario& scenario);
// The encoding beside a token file, else bytes.
Result<Tokenizer> tokenizer_of(const TrainingJob& job, const Tokens& tokens);
// Decides which device trains; `asked`: "auto", "cpu", "cuda", or empty for the scenario's. Returns
// why it is not a GPU where the scenario has GPUs, or nothing.
Result<std::string> choose_device(Scenario& scenario, const std::string& asked);
// The ranks that the scenario asks for must be as many as there are.
Result<void> check_ranks(const Scenario& scenario, std::uint32_t num_ranks);

// Deletes what an earlier run has left; `line` gets the names.
Errors clear_claim(const RunClaim& claim, const TextSink& line);
// Size of the model, of the data and of a rank's tensors.
std::string first_line(const Scenario& scenario, Trainer& trainer, const Tokens& tokens);
// Weights of a file, if the run does not begin with random ones.
Errors load_weights(Trainer& trainer, const Scenario& scenario);
// Goes on from the latest checkpoint that is whole. The rank that sees a torn or changed one tells
// `note`. A checkpoint of another run is an error.
Errors resume_latest(Trainer& trainer,
                     ProcessWorld& world,
                     const std::filesystem::path& folder,
                     const TextSink& note);
std::string resumed_line(std::int64_t done, std::int64_t asked);
// What texts from the model need; the rank that `keeps` puts a copy of the encoding beside the
// checkpoints.
Errors prepare_reports(const Scenario& scenario,
                       const Tokens& tokens,
                       const Result<TrainingLog>& log,
                       bool keeps,
                       Reports& reports);

// The measured kernels beside their prediction. Writes them as a profile, too, if a file is named.
Result<std::string> measured_end(const Scenario& scenario,
                                 Trainer& trainer,
                                 const OpTimes& times,
                                 const std::string& profile_file,
                                 const std::string& written_profile);

}  // namespace orrery
