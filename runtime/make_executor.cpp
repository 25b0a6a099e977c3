// SPDX-License-Identifier: Apache-2.0
#include "runtime/make_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "engine/check.h"
#include "runtime/communication/job.h"
#include "runtime/cpu/cpu_executor.h"
#include "runtime/cuda/devices.h"

#if ORRERY_HAS_CUDA
#include "runtime/cuda/cuda_executor.h"
#endif

namespace orrery {
namespace {

template <class Made>
Result<std::unique_ptr<Executor>> as_executor(Result<std::unique_ptr<Made>> made) {
    if (!made) {
        return unexpected<Error>(made.error());
    }
    return std::move(*made);
}

#if ORRERY_HAS_CUDA
// Where measured algorithms are kept: ORRERY_GEMM_ALGORITHMS, or the user's cache.
std::filesystem::path gemm_file(const Environment& environment, std::string device) {
    if (const auto file = environment("ORRERY_GEMM_ALGORITHMS")) {
        return *file;
    }
    const auto cache = environment("XDG_CACHE_HOME");
    const auto home = environment("HOME");
    if (!cache && !home) {
        return {};
    }
    std::ranges::replace_if(
        device, [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
    const std::filesystem::path folder =
        cache ? std::filesystem::path{*cache} : std::filesystem::path{*home} / ".cache";
    return folder / "orrery" / ("gemm-" + device + ".txt");
}

Result<std::unique_ptr<Executor>> make_cuda_executor(const Program& program,
                                                     RankId rank,
                                                     Transport* transport) {
    const auto devices = cuda_devices();
    const Result<ProcessJob> job = find_job(process_environment());
    const auto features = cuda_features_without(process_environment()(kCudaWithout).value_or(""));
    if (!devices || !job || !features) {
        return unexpected<Error>(!devices ? devices.error() : job ? features.error() : job.error());
    }
    if (job->source == "launcher") {  // all of them are on this machine
        for (const auto& [key, value] :
             nccl_environment(job->rank, job->num_ranks, devices->size())) {
            setenv(key.c_str(), value.c_str(), 0);  // the user's own stay
        }
    }
    // Processes of one machine take its GPUs in turn.
    const std::size_t ordinal = job->local_rank % devices->size();
    return as_executor(CudaExecutor::create(
        program,
        rank,
        transport,
        {.ordinal = static_cast<int>(ordinal),
         .gemm_algorithms = gemm_file(process_environment(), (*devices)[ordinal].name),
         .use = *features}));
}
#else
Result<std::unique_ptr<Executor>> make_cuda_executor(const Program&, RankId, Transport*) {
    return unexpected<Error>(cuda_devices().error());
}
#endif

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
                                                Transport* transport) {
    ORRERY_CHECK(device != DeviceChoice::automatic);
    return device == DeviceChoice::cuda
               ? make_cuda_executor(program, rank, transport)
               : as_executor(CpuExecutor::create(program, rank, transport));
}

}  // namespace orrery
