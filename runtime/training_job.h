// SPDX-License-Identifier: Apache-2.0
// The settings of a training run besides model and plan, from a scenario's `job` section. Comments
// name Megatron-LM's options if they have other names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

// The device of a run's tensors and kernels. `automatic` is CUDA if the scenario has GPUs and a GPU
// answers, else the CPU.
enum class DeviceChoice : std::uint8_t { automatic, cpu, cuda };

// "auto", "cpu" or "cuda".
inline std::optional<DeviceChoice> device_choice(std::string_view word) {
    if (word == "auto") {
        return DeviceChoice::automatic;
    }
    return word == "cpu"    ? std::optional{DeviceChoice::cpu}
           : word == "cuda" ? std::optional{DeviceChoice::cuda}
                            : std::nullopt;
}

struct TrainingJob {
    DeviceChoice device = DeviceChoice::cpu;
    std::vector<std::filesystem::path> dataset;  // token files or texts
    std::int64_t steps = 0;                      // --train-iters
    std::uint64_t seed = 0;
    double learning_rate = 1e-3;    // --lr
    double min_learning_rate = 0;   // --min-lr
    std::int64_t warmup_steps = 0;  // --lr-warmup-iters
    double weight_decay = 0.1;
    double clip_grad = 1.0;  // largest gradient norm; 0: no clipping
    double adam_beta1 = 0.9;
    double adam_beta2 = 0.95;
    double adam_epsilon = 1e-8;
    std::int64_t log_interval = 10;
    std::int64_t eval_interval = 0;  // steps between evaluations; 0: only at the end
    std::int64_t eval_steps = 4;  // global batches per evaluation; --eval-iters; 0: no evaluation
    double validation_share = 0.05;           // of the data, held out at its end
    std::filesystem::path checkpoint_folder;  // --save; empty: no checkpoints
    std::int64_t checkpoint_interval = 0;     // steps between checkpoints; 0: only at the end
    std::filesystem::path initial_weights;    // safetensors file; empty: random weights
    // The time that a rank waits for another rank's message (Megatron-LM's
    // --distributed-timeout-minutes).
    Time distributed_timeout = Time::seconds(120);
    std::filesystem::path tensorboard_folder;  // --tensorboard-dir; empty: no curves
    std::filesystem::path log_file;            // JSON, one object a line; empty: no log
    std::int64_t sample_interval = 0;          // steps between texts from the model; 0: none
    std::int64_t sample_tokens = 64;           // tokens of one text
    std::string sample_prompt{};               // begin of the texts; empty: a new line
    // For an optimizer's state in a file (plan.optimizer_offload_tier): the folder of each rank's
    // file.
    std::filesystem::path offload_folder;
    // The number of consecutive ranks on a node of the cluster; 0: all of them.
    std::uint32_t ranks_of_node = 0;
    bool operator==(const TrainingJob&) const = default;
};

}  // namespace orrery
