// SPDX-License-Identifier: Apache-2.0
#include "runtime/make_executor.h"

#include "engine/base/check.h"
#include "runtime/cpu/cpu_executor.h"
#include "runtime/cuda/cuda_module.h"
#include "runtime/cuda/devices.h"

namespace orrery {
namespace {

template <class Made>
Result<std::unique_ptr<Executor>> as_executor(Result<std::unique_ptr<Made>> made) {
    if (!made) {
        return unexpected<Error>(made.error());
    }
    return std::move(*made);
}

Result<std::unique_ptr<Executor>> make_cuda_executor(const Program& program,
                                                     RankId rank,
                                                     Transport* transport) {
    const auto& module = cuda_module();
    if (!module) {
        return unexpected<Error>(module.error());
    }
    Result<std::unique_ptr<Executor>> executor;
    module->make_executor(program, rank, transport, executor);
    return executor;
}

}  // namespace

DecidedDevice decide_device(DeviceChoice choice, bool cluster_of_gpus) {
    if (choice != DeviceChoice::automatic) {
        return {.device = choice, .why = {}};
    }
    if (!cluster_of_gpus) {
        return {.device = DeviceChoice::cpu, .why = {}};
    }
    const auto devices = cuda_devices();
    return devices ? DecidedDevice{.device = DeviceChoice::cuda, .why = {}}
                   : DecidedDevice{.device = DeviceChoice::cpu,
                                   .why = devices.error().what + ": training on the CPU"};
}

Result<std::unique_ptr<Executor>> make_executor(DeviceChoice device,
                                                const Program& program,
                                                RankId rank,
                                                Transport* transport,
                                                const HostOptions& host) {
    ORRERY_CHECK(device != DeviceChoice::automatic);
    return device == DeviceChoice::cuda
               ? make_cuda_executor(program, rank, transport)
               : as_executor(CpuExecutor::create(program, rank, transport, host));
}

}  // namespace orrery
