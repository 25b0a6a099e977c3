// SPDX-License-Identifier: Apache-2.0
// Creates the executor for a requested device.
#pragma once

#include <memory>
#include <string>

#include "engine/base/result.h"
#include "runtime/executor.h"
#include "runtime/host_options.h"
#include "runtime/training_job.h"

namespace orrery {

// The device for `automatic`: CUDA if the cluster has GPUs and a GPU answers, else the CPU. `why`
// explains the CPU, unless the scenario asks for it.
struct DecidedDevice {
    DeviceChoice device = DeviceChoice::cpu;
    std::string why;
};
DecidedDevice decide_device(DeviceChoice choice, bool cluster_of_gpus);

// `device` must not be `automatic`. An error if the machine has no such device, or if it cannot run
// the Program.
Result<std::unique_ptr<Executor>> make_executor(DeviceChoice device,
                                                const Program& program,
                                                RankId rank,
                                                Transport* transport,
                                                const HostOptions& host = {});

}  // namespace orrery
