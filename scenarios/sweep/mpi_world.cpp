// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sweep/mpi_world.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

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

// Set by Open MPI's mpirun, by Slurm's srun --mpi=pmix, and by launchers of MPICH's kind.
bool has_launcher() {
    return is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMIX_RANK") || is_set("PMI_RANK");
}

std::filesystem::path module_path() {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() /
           "liborrery_mpi.so";
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
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
    // Open MPI loads parts of itself, which look for its symbols; SimGrid, which may be part of the
    // program, has functions of the same names that simulate MPI.
    void* library = dlopen(module_path().c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND);
    auto calls = std::make_unique<Calls>();
    if (library == nullptr || !find(library, "orrery_mpi_start", calls->start) ||
        !find(library, "orrery_mpi_next", calls->next) ||
        !find(library, "orrery_mpi_all_well", calls->all_well) ||
        !find(library, "orrery_mpi_stop", calls->stop)) {
        return fail("mpirun",
                    fmt::format("this program can't use MPI: {}", dlerror()),
                    "build it where MPI is (Debian: libopenmpi-dev), or use --shard");
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
