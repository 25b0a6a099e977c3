// SPDX-License-Identifier: Apache-2.0
#include "runtime/world.h"

#include <chrono>
#include <filesystem>

#include "runtime/communication/job.h"
#include "runtime/communication/launcher.h"

namespace orrery {

// Of meeting, and of each message: a rank may have to wait while another one computes.
constexpr std::chrono::seconds kDeadline{120};

Result<World> join_world() {
    const Result<Job> job = find_job(process_environment());
    if (!job) {
        return unexpected<Error>(job.error());
    }
    World world{.rank = job->rank, .num_ranks = job->num_ranks, .transport = nullptr};
    if (job->num_ranks == 1) {
        return world;
    }
    auto transport = connect_job(*job, kDeadline);
    if (!transport) {
        return unexpected<Error>(transport.error());
    }
    world.transport = std::move(*transport);
    return world;
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
