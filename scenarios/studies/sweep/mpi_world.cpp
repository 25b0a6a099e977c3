// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/mpi_world.h"

#include <fmt/format.h>

#include <cstdlib>

#include "engine/base/module.h"

namespace orrery {

struct MpiWorld::Calls {
    int (*start)(int*, int*) = nullptr;
    long long (*next)() = nullptr;
    int (*all_well)(int) = nullptr;
    void (*stop)() = nullptr;
};

namespace {

bool is_set(const char* variable) {
    const char* text = std::getenv(variable);
    return text != nullptr && *text != 0;
}

bool more_than_one(const char* variable) {
    return is_set(variable) && std::atol(std::getenv(variable)) > 1;
}

// Variables of Open MPI's mpirun, Slurm's srun --mpi=pmix, and launchers of MPICH.
bool has_launcher() {
    return is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMIX_RANK") || is_set("PMI_RANK");
}

}  // namespace

MpiWorld::MpiWorld(std::unique_ptr<Calls> calls, int rank, int size)
    : calls_(std::move(calls)), rank_(rank), size_(size) {}

MpiWorld::~MpiWorld() {
    calls_->stop();
}

Result<std::unique_ptr<MpiWorld>> MpiWorld::join() {
    if (!has_launcher()) {
        if (more_than_one("SLURM_STEP_NUM_TASKS")) {
            return fail("srun",
                        "starts several processes without telling them of each other",
                        "srun --mpi=pmix, or a job array");
        }
        return std::unique_ptr<MpiWorld>{};
    }
    // Open MPI loads plug-ins, which need its symbols.
    const Result<Module> module = Module::open("orrery_mpi", ModuleSymbols::global);
    auto calls = std::make_unique<Calls>();
    if (!module || !module->find("orrery_mpi_start", calls->start) ||
        !module->find("orrery_mpi_next", calls->next) ||
        !module->find("orrery_mpi_all_well", calls->all_well) ||
        !module->find("orrery_mpi_stop", calls->stop)) {
        return fail(
            "mpirun",
            fmt::format("this program can't use MPI: {}",
                        module ? "its module is of another orrery" : module.error().what),
            "install the package orrery-mpi, build where libopenmpi-dev is, or use --shard");
    }
    int rank = 0;
    int size = 1;
    if (calls->start(&rank, &size) != 0) {
        return fail("mpirun", "MPI can't be started", {});
    }
    return std::unique_ptr<MpiWorld>{new MpiWorld{std::move(calls), rank, size}};
}

std::int64_t MpiWorld::next() {
    return calls_->next();
}

bool MpiWorld::all_well(bool well) {
    return calls_->all_well(well ? 1 : 0) != 0;
}

}  // namespace orrery
