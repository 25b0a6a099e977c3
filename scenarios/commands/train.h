// SPDX-License-Identifier: Apache-2.0
// `orrery train FILE`: reads a scenario with a dataset and trains its model for real, on the
// GPUs or the CPU of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/commands/command.h"

namespace orrery {

struct TrainArguments {
    std::string file;
    std::vector<std::string> overrides;
    std::uint32_t num_processes = 1;  // started on this machine, one a rank
    std::string profile_file;         // measured times to predict with; empty: none
    std::string written_profile;      // the measured kernel times; empty: none
    std::string record_folder;        // where every op's times go; empty: nowhere
    std::string trace_file;           // picture of the run beside the prediction; empty: none
    bool quiet = false;               // prints nothing but errors
    std::string device;               // "auto", "cpu", "cuda"; empty: the scenario's job.device
    bool resume = false;              // from the latest checkpoint of job.checkpoint_folder
};

// Returns the exit status.
int train_command(const TrainArguments& arguments);

Command describe_train();

}  // namespace orrery
