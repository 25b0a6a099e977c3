// SPDX-License-Identifier: Apache-2.0
// The job section: how many steps are simulated, or, with a dataset, what `orrery train` does.
#include <fmt/format.h>

#include <limits>
#include <span>

#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;

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

void read_optimizer(MapReader& reader, TrainingJob& job) {
    reader.real("learning_rate", job.learning_rate, 0, 100);
    reader.real("min_learning_rate", job.min_learning_rate, 0, 100);
    reader.integer("warmup_steps", job.warmup_steps, {0, kMost});
    reader.real("weight_decay", job.weight_decay, 0, 100);
    reader.real("clip_grad", job.clip_grad, 0, 1e9);
    reader.real("adam_beta1", job.adam_beta1, 0, 0.999999);
    reader.real("adam_beta2", job.adam_beta2, 0, 0.99999999);
    reader.real("adam_epsilon", job.adam_epsilon, 0, 1);
    if (job.min_learning_rate > job.learning_rate) {
        reader.complain("min_learning_rate",
                        "job.min_learning_rate is larger than job.learning_rate");
    }
}

void read_intervals(MapReader& reader, TrainingJob& job) {
    reader.integer("log_interval", job.log_interval, {1, kMost});
    reader.integer("eval_interval", job.eval_interval, {0, kMost});
    reader.integer("eval_steps", job.eval_steps, {0, kMost});
    reader.real("validation_share", job.validation_share, 0, 0.9);
    reader.integer("sample_interval", job.sample_interval, {0, kMost});
    reader.integer("sample_tokens", job.sample_tokens, {1, 100'000});
    reader.word("sample_prompt", job.sample_prompt);
}

// Paths are relative to the scenario's folder; '' is none, as if the key were not there.
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
    if (reader.quantity("distributed_timeout", job.distributed_timeout) &&
        (job.distributed_timeout < Time::seconds(0.001) ||
         job.distributed_timeout > Time::seconds(86'400))) {
        reader.complain("distributed_timeout",
                        "job.distributed_timeout is out of range",
                        "1 ms to 24 h, e.g. 2 min");
    }
    const bool keeps_none = path("checkpoint_folder", job.checkpoint_folder);
    path("initial_weights", job.initial_weights);
    path("tensorboard_folder", job.tensorboard_folder);
    path("log_file", job.log_file);
    if (reader.integer("checkpoint_interval", job.checkpoint_interval, {1, kMost}) &&
        job.checkpoint_folder.empty() && !keeps_none) {
        reader.complain("checkpoint_interval",
                        "job.checkpoint_interval needs a job.checkpoint_folder");
    }
}

void read_device_choice(MapReader& reader, TrainingJob& job) {
    job.device = DeviceChoice::automatic;
    std::string word;
    if (!reader.word("device", word)) {
        return;
    }
    if (const auto device = device_choice(word)) {
        job.device = *device;
    } else {
        reader.complain("device", "job.device is " + word, "auto, cpu or cuda");
    }
}

}  // namespace

void read_job(const DocumentNode& section,
              const std::filesystem::path& folder,
              Job& job,
              Errors& errors) {
    if (!section.is_map()) {
        errors.push_back({section.where(), "job must be a map, not " + section.describe(), {}});
        return;
    }
    MapReader reader{section, "job", errors};
    read_dataset(reader, folder, job);
    if (job.training.dataset.empty()) {
        reader.integer("steps", job.steps, {2, 1000});
    } else {
        reader.integer("steps", job.training.steps, {1, kMost}, Presence::required);
    }
    std::int64_t seed = 0;
    if (reader.integer("seed", seed, {0, std::numeric_limits<std::int64_t>::max()})) {
        job.seed = static_cast<std::uint64_t>(seed);
        job.training.seed = job.seed;
    }
    reader.boolean("drill", job.drill);
    read_device_choice(reader, job.training);
    read_optimizer(reader, job.training);
    read_intervals(reader, job.training);
    read_files(reader, folder, job.training);
    reader.refuse("checkpoint",
                  "job.checkpoint is not supported yet",
                  "checkpoint_folder and checkpoint_interval");
    reader.finish();
}

}  // namespace orrery
