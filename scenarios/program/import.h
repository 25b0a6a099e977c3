// SPDX-License-Identifier: Apache-2.0
// `orrery import FORMAT`: converts files of other programs to a scenario or a profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

struct ImportArguments {
    std::string format;
    std::vector<std::string> words;  // a file, or the command line itself
    std::string output;
    std::string node = "dgx-h100";
    std::string fabric;  // empty: ndr400-rail
    std::uint32_t nodes = 0;
    std::int64_t seq_length = 0;  // 0: the model's maximum
    std::string software;         // the software that runs the job; empty: from the format
    std::string device;
    std::string collective;
    std::uint32_t ranks = 0;
    double nic_gbps = 0;             // of a GPU; 0: assumed
    std::int64_t gpus_per_node = 8;  // for a log
};

int import_command(const ImportArguments& arguments);

// `orrery import hf`: a model configuration of Hugging Face, as a scenario.
// Returns the exit status.
int import_hf_command(const ImportArguments& arguments);

// `orrery import log`: logs of trainings, as a table of measured steps.
// Returns the exit status.
int import_log_command(const ImportArguments& arguments);

// `orrery import megatron`: the command line of Megatron-LM, as a scenario.
// Returns the exit status.
int import_megatron_command(const ImportArguments& arguments);

// `orrery import nccl-tests`: the table of nccl-tests, as a profile.
// Returns the exit status.
int import_nccl_tests_command(const ImportArguments& arguments);

}  // namespace orrery
