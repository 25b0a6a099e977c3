// SPDX-License-Identifier: Apache-2.0
// Executes a Program on the CPU as one of its ranks: slots in order, the ops of each in order. On
// one processor that order satisfies every wait, since a wait names an op that is earlier in
// program order. Memory is one arena by MemoryPlan.
//
// Before a step the host writes the tensors that are marked `input`. Gradients that persist and
// tensors of the step start it as zeros.
#pragma once

#include <memory>
#include <span>

#include "engine/program.h"
#include "engine/result.h"
#include "kernels/tensor_view.h"
#include "runtime/bound_op.h"
#include "runtime/memory_plan.h"

namespace orrery {

class CpuExecutor {
public:
    // Fails if the Program has ops that can't be executed here.
    static Result<std::unique_ptr<CpuExecutor>> create(const Program& program, RankId rank);

    const Program& program() const { return program_; }
    const Role& role() const { return role_; }
    const MemoryPlan& plan() const { return plan_; }

    // A tensor that outlives slots; empty if this rank has none.
    TensorView view(TensorId tensor, std::int32_t micro_batch = -1);

    void run_step();
    // Only the forward passes: for evaluation. Weights and optimizer state stay as they are.
    void run_forward();

private:
    CpuExecutor(const Program& program, RankId rank);
    void begin_step();
    void run_slot(std::uint32_t slot);
    BoundOp bind(std::uint32_t slot, const Op& op);
    TensorView at(std::int64_t offset, const Tensor& tensor);

    struct FreeArena {
        void operator()(std::byte* arena) const;
    };

    const Program& program_;
    RankId rank_;
    const Role& role_;
    MemoryPlan plan_;
    std::unique_ptr<std::byte[], FreeArena> arena_;
    std::vector<TensorView> zeroed_;  // at the begin of a step
};

}  // namespace orrery
