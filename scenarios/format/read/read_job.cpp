// SPDX-License-Identifier: Apache-2.0
// The job section: the number of simulated steps, or, with a dataset, the run of `orrery train`.
#include <fmt/format.h>

#include <span>

#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

constexpr std::int64_t kStepsMost = 1'000'000'000;

constexpr Choice<DeviceChoice> kDeviceChoices[] = {
    {"auto", DeviceChoice::automatic},
    {"cpu", DeviceChoice::cpu},
    {"cuda", DeviceChoice::cuda},
};

template <auto kMember>
constexpr Key of_training(std::string_view name, std::string_view meaning) {
    return key<&Job::training, kMember>(name, meaning);
}

void check_job(MapReader& reader, Job& job) {
    const TrainingJob& training = job.training;
    if (training.min_learning_rate > training.learning_rate) {
        reader.complain("min_learning_rate",
                        "job.min_learning_rate is larger than job.learning_rate");
    }
    if (reader.good("distributed_timeout") &&
        (training.distributed_timeout < Time::seconds(0.001) ||
         training.distributed_timeout > Time::seconds(86'400))) {
        reader.complain("distributed_timeout",
                        "job.distributed_timeout is out of range",
                        "1 ms to 24 h, e.g. 2 min");
    }
    reader.refuse("checkpoint",
                  "job.checkpoint is not supported yet",
                  "checkpoint_folder and checkpoint_interval");
}

constexpr Key kJobRows[] = {
    plain("steps",
          KeyShape::integer,
          "Steps that are simulated, or that `orrery train` does if there is a dataset.")
        .range(1, kStepsMost)
        .by("2"),
    key<&Job::seed>("seed", "Seed of weights, of the order of the data and of faults.")
        .range(0, kLongMost),
    plain("dataset", KeyShape::path, "Texts or token files to train on.").or_list(),
    key<&Job::drill>("drill", "Faults may be injected into a real run of the job."),
    choice<kDeviceChoices, &Job::training, &TrainingJob::device>("device", "Where the job trains.")
        .by("auto"),
    of_training<&TrainingJob::learning_rate>("learning_rate", "Largest learning rate.")
        .range(0, 100),
    of_training<&TrainingJob::min_learning_rate>("min_learning_rate",
                                                 "Learning rate of the last step.")
        .range(0, 100),
    of_training<&TrainingJob::warmup_steps>("warmup_steps",
                                            "Steps until the learning rate is largest.")
        .range(0, kStepsMost)
        .of("steps"),
    of_training<&TrainingJob::weight_decay>("weight_decay", "Weight decay.").range(0, 100),
    of_training<&TrainingJob::clip_grad>("clip_grad",
                                         "Largest norm of the gradients; 0: no clipping.")
        .range(0, 1e9),
    of_training<&TrainingJob::adam_beta1>("adam_beta1", "Decay of Adam's first moments.")
        .range(0, 0.999999),
    of_training<&TrainingJob::adam_beta2>("adam_beta2", "Decay of Adam's second moments.")
        .range(0, 0.99999999),
    of_training<&TrainingJob::adam_epsilon>("adam_epsilon", "Adam's epsilon.").range(0, 1),
    of_training<&TrainingJob::log_interval>("log_interval", "Steps between lines of the log.")
        .range(1, kStepsMost)
        .of("steps"),
    of_training<&TrainingJob::eval_interval>("eval_interval",
                                             "Steps between evaluations; 0: only at the end.")
        .range(0, kStepsMost)
        .of("steps"),
    of_training<&TrainingJob::eval_steps>("eval_steps", "Global batches of an evaluation; 0: none.")
        .range(0, kStepsMost)
        .of("batches"),
    of_training<&TrainingJob::validation_share>(
        "validation_share", "Share of the data, at its end, that only evaluations use.")
        .range(0, 0.9),
    of_training<&TrainingJob::sample_interval>("sample_interval",
                                               "Steps between texts from the model; 0: none.")
        .range(0, kStepsMost)
        .of("steps"),
    of_training<&TrainingJob::sample_tokens>("sample_tokens", "Tokens of such a text.")
        .range(1, 100'000)
        .of("tokens"),
    of_training<&TrainingJob::sample_prompt>("sample_prompt", "Begin of such a text.")
        .by("a new line"),
    of_training<&TrainingJob::distributed_timeout>(
        "distributed_timeout", "A rank gives up on another rank's message after this long."),
    plain("checkpoint_folder", KeyShape::path, "Folder of the checkpoints."),
    of_training<&TrainingJob::checkpoint_interval>("checkpoint_interval",
                                                   "Steps between checkpoints.")
        .range(1, kStepsMost)
        .of("steps")
        .by("only at the end"),
    plain("offload_folder",
          KeyShape::path,
          "Folder for the file of an optimizer's state (plan.optimizer_offload_tier)."),
    plain("initial_weights", KeyShape::path, "Safetensors file to start from.").by("random"),
    plain("tensorboard_folder", KeyShape::path, "Folder of TensorBoard's event files."),
    plain("log_file", KeyShape::path, "Log of one JSON object a line."),
};

// A path, or a list of paths, relative to the scenario's folder.
void read_dataset(MapReader& reader, const std::filesystem::path& folder, Job& job) {
    const DocumentNode* node = reader.find("dataset");
    if (node == nullptr) {
        return;
    }
    const std::span<const DocumentNode> items =
        node->is_sequence() ? std::span{node->items} : std::span{node, 1};
    for (const DocumentNode& item : items) {
        if (!item.is_scalar() || item.text.empty()) {
            reader.complain("dataset", "job.dataset must be a path or a list of paths");
            return;
        }
        job.training.dataset.push_back(folder / item.text);
    }
    if (job.training.dataset.empty()) {
        reader.complain("dataset", "job.dataset is empty", "the path of a text or a token file");
    }
    job.dataset_where = node->where();
}

// Paths are relative to the scenario's folder; '' counts as a missing key.
void read_files(MapReader& reader, const std::filesystem::path& folder, TrainingJob& job) {
    const auto path = [&](const char* key, std::filesystem::path& value) {
        std::string text;
        const DocumentNode* node = reader.find(key);
        const bool none = node != nullptr && node->is_scalar() && node->text.empty();
        if (!none && reader.word(key, text)) {
            value = folder / text;
        }
        return none;
    };
    const bool keeps_none = path("checkpoint_folder", job.checkpoint_folder);
    path("initial_weights", job.initial_weights);
    path("offload_folder", job.offload_folder);
    path("tensorboard_folder", job.tensorboard_folder);
    path("log_file", job.log_file);
    if (reader.good("checkpoint_interval") && job.checkpoint_folder.empty() && !keeps_none) {
        reader.complain("checkpoint_interval",
                        "job.checkpoint_interval needs a job.checkpoint_folder");
    }
}

}  // namespace

const KeyTable<Job> kJobKeys = key_table<Job, check_job>("job", kJobRows);

void read_job(const DocumentNode& section,
              const std::filesystem::path& folder,
              Job& job,
              Errors& errors) {
    if (!section.is_map()) {
        errors.push_back({section.where(), "job must be a map, not " + section.describe(), {}});
        return;
    }
    MapReader reader{section, "job", errors};
    job.training.device = DeviceChoice::automatic;
    read_keys(reader, kJobKeys, job);
    read_dataset(reader, folder, job);
    if (job.training.dataset.empty()) {
        reader.integer("steps", job.steps, {2, 1000});
    } else {
        reader.integer("steps", job.training.steps, {1, kStepsMost}, Presence::required);
    }
    job.training.seed = reader.good("seed") ? job.seed : job.training.seed;
    read_files(reader, folder, job.training);
    reader.finish();
}

}  // namespace orrery
