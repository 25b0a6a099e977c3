// SPDX-License-Identifier: Apache-2.0
// The functions through which the program calls its CUDA module: see runtime/cuda/cuda_module.h.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "engine/base/module.h"
#include "runtime/communication/job.h"
#include "runtime/cuda/cuda_decoder.h"
#include "runtime/cuda/cuda_executor.h"
#include "runtime/cuda/cuda_features.h"
#include "runtime/cuda/driver_devices.h"

namespace orrery {
namespace {

// The file of measured algorithms: ORRERY_GEMM_ALGORITHMS, or in the user's cache folder.
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
    const auto devices = driver_devices();
    const Result<ProcessJob> job = find_job(process_environment());
    const auto features = cuda_features_without(process_environment()(kCudaWithout).value_or(""));
    if (!devices || !job || !features) {
        return unexpected<Error>(!devices ? devices.error() : job ? features.error() : job.error());
    }
    if (job->source == "launcher") {  // all processes are on this machine
        for (const auto& [key, value] :
             nccl_environment(job->rank, job->num_ranks, devices->size())) {
            setenv(key.c_str(), value.c_str(), 0);  // variables set by the user are kept
        }
    }
    // Processes of one machine use its GPUs in turn.
    const std::size_t ordinal = job->local_rank % devices->size();
    Result<std::unique_ptr<CudaExecutor>> executor = CudaExecutor::create(
        program,
        rank,
        transport,
        {.ordinal = static_cast<int>(ordinal),
         .gemm_algorithms = gemm_file(process_environment(), (*devices)[ordinal].name),
         .use = *features});
    if (!executor) {
        return unexpected<Error>(executor.error());
    }
    return std::move(*executor);
}

// Instances of one machine take its GPUs in turn.
Result<std::unique_ptr<DecodeStep>> make_cuda_decode_step(const ServedModel& served,
                                                          const CacheShape& cache,
                                                          const StepLimits& limits) {
    const auto devices = driver_devices();
    const auto features = cuda_features_without(process_environment()(kCudaWithout).value_or(""));
    if (!devices || !features) {
        return unexpected<Error>(devices ? features.error() : devices.error());
    }
    const std::size_t ordinal = limits.instance % devices->size();
    Result<std::unique_ptr<CudaDecoder>> decoder = CudaDecoder::create(
        served,
        cache,
        {.ordinal = static_cast<int>(ordinal),
         .gemm_algorithms = gemm_file(process_environment(), (*devices)[ordinal].name),
         .step_tokens = limits.tokens,
         .step_sequences = limits.sequences,
         .graphs = features->graphs});
    if (!decoder) {
        return unexpected<Error>(decoder.error());
    }
    return std::move(*decoder);
}

}  // namespace
}  // namespace orrery

ORRERY_MODULE_FUNCTION void orrery_cuda_devices(
    orrery::Result<std::vector<orrery::CudaDeviceInfo>>& devices) {
    devices = orrery::driver_devices();
}

ORRERY_MODULE_FUNCTION void orrery_cuda_versions(std::string& versions) {
    versions = orrery::driver_versions();
}

ORRERY_MODULE_FUNCTION void orrery_cuda_make_executor(
    const orrery::Program& program,
    orrery::RankId rank,
    orrery::Transport* transport,
    orrery::Result<std::unique_ptr<orrery::Executor>>& executor) {
    executor = orrery::make_cuda_executor(program, rank, transport);
}

ORRERY_MODULE_FUNCTION void orrery_cuda_make_decode_step(
    const orrery::ServedModel& served,
    const orrery::CacheShape& cache,
    const orrery::StepLimits& limits,
    orrery::Result<std::unique_ptr<orrery::DecodeStep>>& step) {
    step = orrery::make_cuda_decode_step(served, cache, limits);
}
