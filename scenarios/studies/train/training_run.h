// SPDX-License-Identifier: Apache-2.0
// The parts of a real training between the scenario and the Trainer: device, data, encoding,
// initial state, and the measured kernels at the end.
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

// The error, placed at the scenario's job.dataset.
Error in_scenario(Error error, const Scenario& scenario);
// The tokens, which must fit the model's vocabulary.
Result<Tokens> dataset_of(const Scenario& scenario);
// The encoding beside a token file, or bytes without one.
Result<Tokenizer> tokenizer_of(const TrainingJob& job, const Tokens& tokens);
// Chooses the device. `asked` is "auto", "cpu", "cuda", or empty for the scenario's. If the
// scenario has GPUs but the device is none, the result is the reason; otherwise it is empty.
Result<std::string> choose_device(Scenario& scenario, const std::string& asked);
// The number of ranks in the scenario must be `num_ranks`.
Result<void> check_ranks(const Scenario& scenario, std::uint32_t num_ranks);

// Deletes the files of an earlier run; `line` gets their names.
Errors clear_claim(const RunClaim& claim, const TextSink& line);
// The sizes of the model, of the data and of a rank's tensors.
std::string first_line(const Scenario& scenario, Trainer& trainer, const Tokens& tokens);
// Loads the weights of a file, unless the run begins with random ones.
Errors load_weights(Trainer& trainer, const Scenario& scenario);
// Continues from the latest complete checkpoint. A rank that finds a torn or changed checkpoint
// calls `note`. A checkpoint of another run is an error.
Errors resume_latest(Trainer& trainer,
                     ProcessWorld& world,
                     const std::filesystem::path& folder,
                     const TextSink& note);
std::string resumed_line(std::int64_t done, std::int64_t asked);
// Prepares the encoding for texts from the model. The rank with `keeps` copies it beside the
// checkpoints.
Errors prepare_reports(const Scenario& scenario,
                       const Tokens& tokens,
                       const Result<TrainingLog>& log,
                       bool keeps,
                       Reports& reports);

// The measured kernels compared with their prediction. If a file is named, they are also written as
// a profile.
Result<std::string> measured_end(const Scenario& scenario,
                                 Trainer& trainer,
                                 const OpTimes& times,
                                 const std::string& profile_file,
                                 const std::string& written_profile);

}  // namespace orrery
