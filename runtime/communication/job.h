// SPDX-License-Identifier: Apache-2.0
// The place of this process in its job, from environment variables: torchrun's (RANK, WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT, LOCAL_RANK), else Slurm's (SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID),
// else Open MPI's (OMPI_COMM_WORLD_RANK …). Processes of the local launcher have ORRERY_STORE
// besides RANK and WORLD_SIZE: "tcp:HOST:PORT" of a store, or a folder. Without any of them the job
// has one process.
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
    std::string store_folder;  // the store of local processes, or else
    std::string master_host;   // the host on which rank 0 listens
    std::uint16_t master_port = 0;
    bool served = false;  // another process serves the store
};

// Values of ORRERY_STORE for a store at a port of a host, or of this machine.
std::string store_at(const std::string& host, std::uint16_t port);
std::string local_store(std::uint16_t port);

// Reads an environment variable; no value if it is unset.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
Environment process_environment();

// An error if variables are set but inconsistent.
Result<ProcessJob> find_job(const Environment& environment);

// Connects the job's processes. In a job of several hosts rank 0 serves the store as long as the
// returned transport lives. A job of one process needs no connection.
Result<std::unique_ptr<Transport>> connect_job(const ProcessJob& job,
                                               std::chrono::milliseconds timeout);

}  // namespace orrery
