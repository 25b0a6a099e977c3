// SPDX-License-Identifier: Apache-2.0
#include "runtime/world.h"

#include <chrono>
#include <filesystem>
#include <numeric>
#include <utility>

#include "runtime/communication/communicator.h"
#include "runtime/communication/job.h"
#include "runtime/communication/launcher.h"

namespace orrery {

Result<Place> find_place() {
    const Result<ProcessJob> job = find_job(process_environment());
    if (!job) {
        return unexpected<Error>(job.error());
    }
    return Place{job->rank, job->num_ranks};
}

Result<ProcessWorld> join_world(std::chrono::milliseconds patience) {
    const Result<ProcessJob> job = find_job(process_environment());
    if (!job) {
        return unexpected<Error>(job.error());
    }
    ProcessWorld world{.rank = job->rank, .num_ranks = job->num_ranks, .transport = nullptr};
    if (job->num_ranks == 1) {
        return world;
    }
    auto transport = connect_job(*job, patience);
    if (!transport) {
        return unexpected<Error>(transport.error());
    }
    world.transport = std::move(*transport);
    return world;
}

std::optional<std::uint32_t> first_to_fail(ProcessWorld& world, bool failed) {
    // larger for earlier ranks; 0: no error
    float told = failed ? static_cast<float>(world.num_ranks - world.rank) : 0.0f;
    if (world.transport != nullptr) {
        constexpr std::uint32_t kErrors = 0xFFFF'FFFE;  // a communicator that no Program has
        std::vector<std::uint32_t> everybody(world.num_ranks);
        std::iota(everybody.begin(), everybody.end(), 0u);
        Communicator ranks{*world.transport, std::move(everybody), kErrors};
        if (!ranks.all_reduce_max(view_of({&told, 1}))) {
            // Without the others, each rank reports itself
            return failed ? std::optional{world.rank} : std::nullopt;
        }
    }
    return told > 0 ? std::optional{world.num_ranks - static_cast<std::uint32_t>(told)}
                    : std::nullopt;
}

Result<int> run_ranks(std::uint32_t num_ranks, const std::vector<std::string>& arguments) {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) {
        return fail("", "the program can't find itself to start its ranks: " + error.message());
    }
    LaunchOptions options;
    options.num_processes = num_ranks;
    options.command = {self.string()};
    options.command.insert(options.command.end(), arguments.begin(), arguments.end());
    return launch_processes(options);
}

}  // namespace orrery
