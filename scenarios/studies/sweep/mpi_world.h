// SPDX-License-Identifier: Apache-2.0
// The ranks of `mpirun orrery sweep`: the own rank, the number of ranks, and one shared counter
// (MPI_Fetch_and_op on a window of rank 0; every rank computes points). If a launcher started this
// process, MPI is loaded from a small library beside the program (mpi_module.cpp). The program
// itself therefore does not depend on MPI.
#pragma once

#include <memory>

#include "engine/base/result.h"
#include "scenarios/studies/sweep/point_queue.h"

namespace orrery {

class MpiWorld final : public PointQueue {
public:
    // Null without a launcher, or with a single rank.
    static Result<std::unique_ptr<MpiWorld>> join();
    ~MpiWorld() override;
    MpiWorld(const MpiWorld&) = delete;
    MpiWorld& operator=(const MpiWorld&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    std::int64_t next() override;
    // Waits for all ranks. Returns whether `well` is true on all of them.
    bool all_well(bool well);

private:
    struct Calls;

    MpiWorld(std::unique_ptr<Calls> calls, int rank, int size);

    std::unique_ptr<Calls> calls_;
    int rank_;
    int size_;
};

}  // namespace orrery
