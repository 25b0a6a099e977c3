// SPDX-License-Identifier: Apache-2.0
// The ranks of `mpirun orrery sweep`: who am I, of how many, and one counter that all share
// (MPI_Fetch_and_op on a window of rank 0; no rank only manages). MPI is loaded when a launcher
// started this process, from a small library beside the program (mpi_module.cpp), so that the
// program itself needs none.
#pragma once

#include <memory>

#include "engine/base/result.h"
#include "scenarios/studies/sweep/point_queue.h"

namespace orrery {

class MpiWorld final : public PointQueue {
public:
    // Null without a launcher, or alone.
    static Result<std::unique_ptr<MpiWorld>> join();
    ~MpiWorld() override;
    MpiWorld(const MpiWorld&) = delete;
    MpiWorld& operator=(const MpiWorld&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    std::int64_t next() override;
    // Waits for all ranks. Whether all of them say that they are well.
    bool all_well(bool well);

private:
    struct Calls;

    MpiWorld(std::unique_ptr<Calls> calls, int rank, int size);

    std::unique_ptr<Calls> calls_;
    int rank_;
    int size_;
};

}  // namespace orrery
