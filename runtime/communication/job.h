// SPDX-License-Identifier: Apache-2.0
// Which process of a job this is: from torchrun's environment variables (RANK, WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT, LOCAL_RANK), else Slurm's (SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID),
// else Open MPI's (OMPI_COMM_WORLD_RANK …); processes that the local launcher started find
// ORRERY_STORE beside RANK and WORLD_SIZE: "tcp:HOST:PORT", where it serves a store, or a folder.
// Without any it is a job of one process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/result.h"
#include "runtime/communication/transport.h"

namespace orrery {

struct ProcessJob {
    std::uint32_t rank = 0;
    std::uint32_t num_ranks = 1;
    std::uint32_t local_rank = 0;
    std::string source;        // "torchrun", "slurm", "openmpi", "launcher" or "single"
    std::string store_folder;  // where local processes meet, or else
    std::string master_host;   // where rank 0 listens
    std::uint16_t master_port = 0;
    bool served = false;  // somebody else does it
};

// What ORRERY_STORE says of a store at that port of a machine, or of this one.
std::string store_at(const std::string& host, std::uint16_t port);
std::string local_store(std::uint16_t port);

// Reads one environment variable; empty if unset.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
Environment process_environment();

// An error if variables are there but make no sense.
Result<ProcessJob> find_job(const Environment& environment);

// Connects the job's processes. Rank 0 serves the store of a job of several hosts, in the returned
// transport's lifetime. A job of one process needs no connection.
Result<std::unique_ptr<Transport>> connect_job(const ProcessJob& job,
                                               std::chrono::milliseconds timeout);

}  // namespace orrery
