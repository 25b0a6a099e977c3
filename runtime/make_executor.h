// SPDX-License-Identifier: Apache-2.0
// The executor for a device that was asked for.
#pragma once

#include <memory>
#include <string>

#include "engine/base/result.h"
#include "runtime/executor.h"
#include "runtime/host_options.h"
#include "runtime/training_job.h"

namespace orrery {

// What `automatic` means here: CUDA for a cluster of GPUs where a GPU answers, else the CPU. Says
// why it is the CPU where it is not because the scenario says so.
struct DecidedDevice {
    DeviceChoice device = DeviceChoice::cpu;
    std::string why;
};
DecidedDevice decide_device(DeviceChoice choice, bool cluster_of_gpus);

// `automatic` must have been decided. An error if there is no such device here, or it can't run
// the Program.
Result<std::unique_ptr<Executor>> make_executor(DeviceChoice device,
                                                const Program& program,
                                                RankId rank,
                                                Transport* transport,
                                                const HostOptions& host = {});

}  // namespace orrery
