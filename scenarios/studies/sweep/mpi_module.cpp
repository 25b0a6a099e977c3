// SPDX-License-Identifier: Apache-2.0
// The one owner of MPI, a library that mpi_world.cpp loads. A one-sided operation on rank 0 may
// need rank 0 inside MPI, which computes for minutes. One of its threads therefore enters MPI at
// intervals.
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "engine/base/module.h"

namespace {

class World {
public:
    World() {
        MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
        MPI_Comm_dup(MPI_COMM_WORLD, &quiet_);
        MPI_Comm_rank(communicator_, &rank_);
        MPI_Comm_size(communicator_, &size_);
        MPI_Win_allocate(rank_ == 0 ? sizeof(long long) : 0,
                         sizeof(long long),
                         MPI_INFO_NULL,
                         communicator_,
                         static_cast<void*>(&counter_),
                         &window_);
        if (rank_ == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window_);
            *counter_ = 0;
            MPI_Win_unlock(0, window_);
        }
        MPI_Barrier(communicator_);
    }
    ~World() {
        stop_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
        MPI_Win_free(&window_);
        MPI_Comm_free(&quiet_);
        MPI_Comm_free(&communicator_);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    void keep_going() {
        if (rank_ == 0 && size_ > 1) {
            thread_ = std::thread{[this] {
                while (!stop_) {
                    int ignored = 0;
                    MPI_Iprobe(MPI_ANY_SOURCE, 0, quiet_, &ignored, MPI_STATUS_IGNORE);
                    std::this_thread::sleep_for(std::chrono::milliseconds{1});
                }
            }};
        }
    }

    long long next() {
        const long long one = 1;
        long long before = 0;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window_);
        MPI_Fetch_and_op(&one, &before, MPI_LONG_LONG, 0, 0, MPI_SUM, window_);
        MPI_Win_unlock(0, window_);
        return before;
    }

    // Ranks arrive minutes apart. They sleep until the last one arrives.
    int all_well(int well) {
        int all = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(&well, &all, 1, MPI_INT, MPI_MIN, communicator_, &request);
        for (int done = 0; done == 0;) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        return all;
    }

    int rank() const { return rank_; }
    int size() const { return size_; }

private:
    MPI_Comm communicator_ = MPI_COMM_NULL;
    MPI_Comm quiet_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    long long* counter_ = nullptr;
    int rank_ = 0;
    int size_ = 1;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

std::unique_ptr<World> world;

}  // namespace

ORRERY_MODULE_FUNCTION int orrery_mpi_start(int* rank, int* size) {
    int provided = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
        return 1;
    }
    world = std::make_unique<World>();
    if (provided == MPI_THREAD_MULTIPLE) {
        world->keep_going();
    }
    *rank = world->rank();
    *size = world->size();
    return 0;
}

ORRERY_MODULE_FUNCTION long long orrery_mpi_next() {
    return world->next();
}

ORRERY_MODULE_FUNCTION int orrery_mpi_all_well(int well) {
    return world->all_well(well);
}

ORRERY_MODULE_FUNCTION void orrery_mpi_stop() {
    world.reset();
    MPI_Finalize();
}
